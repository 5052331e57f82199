"""System checks: what would lose work or lie is refused before anything starts."""
