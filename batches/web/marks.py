"""How a state looks on a page: a sign, a tone for the style sheet, a word. Never colour alone."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mark:
    sign: str
    tone: str


MARKS: dict[str, Mark] = {
    # batches and runs
    "QUEUED": Mark("○", "quiet"),
    "PENDING": Mark("○", "quiet"),
    "RUNNING": Mark("◐", "busy"),
    "CANCELLING": Mark("◐", "warn"),
    "COMPLETED": Mark("✓", "good"),
    "PARTIAL": Mark("◪", "warn"),
    "FAILED": Mark("✕", "bad"),
    "BLOCKED": Mark("?", "warn"),
    "SKIPPED": Mark("⤼", "quiet"),
    "CANCELLED": Mark("⊘", "quiet"),
    "LOST": Mark("⚡", "lost"),
    # tasks
    "BACKLOG": Mark("·", "quiet"),
    "READY": Mark("○", "quiet"),
    "IN_PROGRESS": Mark("◐", "busy"),
    "DONE": Mark("✓", "good"),
    "MERGED": Mark("✓", "good"),
    # gates and verification
    "PASSED": Mark("✓", "good"),
    "UNVERIFIED": Mark("!", "warn"),
    "WAIVED": Mark("−", "quiet"),
    "NOTHING_COLLECTED": Mark("!", "warn"),
    "TOOL_MISSING": Mark("!", "warn"),
    "TIMED_OUT": Mark("✕", "bad"),
    "ERROR": Mark("✕", "bad"),
    # stages, landing, vetting
    "OK": Mark("✓", "good"),
    "INTERRUPTED": Mark("⊘", "quiet"),
    "LANDED": Mark("✓", "good"),
    "HELD": Mark("!", "warn"),
    "REFUSE": Mark("✕", "bad"),
    "WARN": Mark("!", "warn"),
}
UNKNOWN = Mark("·", "quiet")


def mark(state: str) -> Mark:
    """States are looked up whatever their case; one that is not in the table looks quiet."""
    return MARKS.get(state.upper(), UNKNOWN)


def word(state: str) -> str:
    return state.lower().replace("_", " ")
