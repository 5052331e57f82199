"""Small words for what tests want to read from a stream."""

from collections.abc import Iterable, Iterator

from tests.streams.client import Client, Word


def until(frames: Iterator[Word], kind: str) -> list[Word]:
    """All up to the first frame of this type."""
    seen = []
    for frame in frames:
        seen.append(frame)
        if frame["type"] == kind:
            return seen
    raise AssertionError(f"no {kind} in {seen}")


def until_seq(frames: Iterable[Word], last: int) -> list[Word]:
    """All up to the event with this number."""
    seen = []
    for frame in frames:
        seen.append(frame)
        if frame["type"] == "events" and frame["events"][-1]["seq"] >= last:
            return seen
    raise AssertionError(f"no {last} in {[frame['type'] for frame in seen]}")


def seqs(frames: Iterable[Word]) -> list[int]:
    return [event["seq"] for frame in frames for event in frame.get("events", [])]


def words(frames: Iterable[Word]) -> list[str]:
    """Types of what are no events."""
    return [frame["type"] for frame in frames if frame["type"] != "events"]


def closed_with(client: Client) -> tuple[list[Word], int]:
    """All that comes, and the code of the close."""
    return list(client), client.code
