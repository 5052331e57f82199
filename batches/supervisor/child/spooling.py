"""Writes one stream to bounded segments: the head and the newest tail stay, the middle goes."""
# (pathlib would double the start time)

from batches.supervisor.layout import HEAD_SEGMENTS, SEGMENTS_KEPT, segment_name, segment_size
from batches.supervisor.native import os


class Spool:
    """`offset` counts every byte of the stream; `cut` those removed, `lost` those never written."""

    __slots__ = ("_end", "_fd", "_folder", "_segments", "_size", "cut", "error", "lost", "offset")

    def __init__(self, folder: str, spool_bytes: int) -> None:
        self.offset = 0
        self.cut = 0
        self.lost = 0
        self.error: OSError | None = None
        self._folder = folder
        self._size = segment_size(spool_bytes)
        self._segments: list[list[int]] = []  # [start, length], oldest first
        self._fd = -1
        self._end = 0

    def write(self, data: bytes) -> None:
        """Never raises and never waits for space: the agent must not block on a full disk."""
        view = memoryview(data)
        try:
            while view:
                if self._fd < 0 or self.offset >= self._end:
                    self._open_segment()
                view = view[self._append(view[: self._end - self.offset]) :]
        except OSError as error:
            self.error = error
            self._give_up(len(view))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _give_up(self, lost: int) -> None:
        """The next segment starts behind the gap, and so tells it."""
        self.lost += lost
        self.offset += lost
        if self._fd >= 0 and not self._segments[-1][1]:
            os.unlink(self._path(self._segments.pop()[0]))
        self.close()

    def _append(self, view: memoryview) -> int:
        written = os.write(self._fd, view)
        self.offset += written
        self._segments[-1][1] += written
        # Only now: on a full disk the tail that is there is worth more than one that may not come.
        if len(self._segments) > SEGMENTS_KEPT:
            self._remove_oldest_behind_head()
        return written

    def _path(self, start: int) -> str:
        return f"{self._folder}/{segment_name(start)}"

    def _open_segment(self) -> None:
        self.close()
        if not self._segments:
            self._make_folder()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._fd = os.open(self._path(self.offset), flags, 0o600)
        self._end = self.offset + self._size
        self._segments.append([self.offset, 0])

    def _make_folder(self) -> None:
        try:
            os.mkdir(self._folder, 0o700)
        except FileExistsError:  # nothing of the first segment could be written
            return

    def _remove_oldest_behind_head(self) -> None:
        start, length = self._segments[HEAD_SEGMENTS]
        os.unlink(self._path(start))
        del self._segments[HEAD_SEGMENTS]
        self.cut += length
