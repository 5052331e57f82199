"""A batch on a terminal: live bars for a person, lines for cron, JSON for programs."""
