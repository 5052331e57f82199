"""The newest events of one workspace, in memory, for all its clients at once."""

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from uuid import UUID

from tasks.events.frames import Frame, pieces
from tasks.events.payloads import Line
from tasks.events.target import Target

MOST_EVENTS = 10_000
MOST_CHARACTERS = 8 * 1024 * 1024
_seq = attrgetter("seq")


class Topic:
    """Holds every event after `start` and up to `tail`. Of the event loop's thread alone."""

    def __init__(self, workspace_id: UUID, tail: int) -> None:
        self.workspace_id = workspace_id
        self.start = self.tail = tail
        self.streams = 0
        self._lines: list[Line] = []
        self._size = 0
        self._frames: dict[tuple[Target, int], Frame] = {}

    def add(self, lines: Sequence[Line]) -> None:
        """In order; those that are there already are left out."""
        fresh = lines[bisect_right(lines, self.tail, key=_seq) :]
        if not fresh:
            return
        self._lines += fresh
        self._size += sum(len(line.text) for line in fresh)
        self.tail = fresh[-1].seq
        self._frames.clear()
        self._forget()

    def reaches(self, cursor: int) -> bool:
        """Whether all that follows the cursor is here; otherwise the table has it."""
        return cursor >= self.start

    def after(self, target: Target, cursor: int) -> Frame:
        """The next piece. Its cursor is the tail where nothing more concerns the target.

        Clients at the same place are given the same frame, so it is put together once.
        """
        frame = self._frames.get((target, cursor))
        if frame is None:
            frame = self._frames[target, cursor] = self._made(target, cursor)
        return frame

    def _made(self, target: Target, cursor: int) -> Frame:
        following = self._lines[bisect_right(self._lines, cursor, key=_seq) :]
        wanted = [line for line in following if target.concerns(line)]
        first = next(pieces(wanted), [])
        reached = max(cursor, self.tail) if len(first) == len(wanted) else first[-1].seq
        return Frame(first, reached, target.ending(first))

    def _forget(self) -> None:
        """The older half, when there is too much: seldom, so that it costs little each time."""
        if len(self._lines) <= MOST_EVENTS and self._size <= MOST_CHARACTERS:
            return
        drop = size = 0
        for line in self._lines[:-1]:
            if len(self._lines) - drop <= MOST_EVENTS / 2 and (
                self._size - size <= MOST_CHARACTERS / 2
            ):
                break
            drop, size = drop + 1, size + len(line.text)
        if not drop:
            return
        self.start = self._lines[drop - 1].seq
        del self._lines[:drop]
        self._size -= size
