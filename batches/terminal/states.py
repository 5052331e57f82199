"""How a state looks: a sign, a word and a colour, never the colour alone."""

SIGNS = {
    "QUEUED": ("○", "bright_black"),
    "PENDING": ("○", "bright_black"),
    "RUNNING": ("◐", "blue"),
    "CANCELLING": ("◐", "yellow"),
    "COMPLETED": ("✓", "green"),
    "PARTIAL": ("◪", "yellow"),
    "FAILED": ("✕", "red"),
    "BLOCKED": ("?", "yellow"),
    "SKIPPED": ("⤼", "bright_black"),
    "CANCELLED": ("⊘", "bright_black"),
    "LOST": ("⚡", "magenta"),
}


def sign(status: str) -> str:
    return SIGNS.get(status, ("·", ""))[0]


def colour(status: str) -> str:
    return SIGNS.get(status, ("", "default"))[1]


def seconds(value: float) -> str:
    """4.2 s, 3 min 20 s, 1 h 05 min."""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"
