"""Lines of a stream that comes in pieces, with gaps, at any length."""

LONGEST = 4 * 1024 * 1024
"""Bytes of a line that is kept; a longer one is dropped whole, so memory stays bounded."""

Line = tuple[int, bytes]
"""Where it starts in the stream, and what it holds."""


class Lines:
    """`offset` is behind the last line given out: reading again from there repeats none."""

    def __init__(self, offset: int = 0) -> None:
        self.offset = offset
        self.gaps = 0
        self._pending = bytearray()
        self._skipping = False

    def feed(self, offset: int, data: bytes) -> list[Line]:
        """Whole lines without their ends. What comes again is left out, a gap ends a line."""
        end = self.offset + len(self._pending)
        if offset < end:
            data, offset = data[end - offset :], end
        elif offset > end:
            self._start_after_gap(offset)
        *whole, rest = data.split(b"\n")
        return self._whole(whole, rest)

    def rest(self) -> list[Line]:
        """The last line, when the stream ended within it."""
        start, line = self.offset, bytes(self._pending)
        self._settle(len(line))
        self._pending.clear()
        return [(start, line)] if line and not self._skipping else []

    def _whole(self, whole: list[bytes], rest: bytes) -> list[Line]:
        given: list[Line] = []
        for piece in whole:
            self._pending += piece
            if not self._skipping and len(self._pending) <= LONGEST:
                given.append((self.offset, bytes(self._pending).rstrip(b"\r")))
            self._settle(len(self._pending) + 1)
            self._pending.clear()
            self._skipping = False
        self._pending += rest
        if self._skipping or len(self._pending) > LONGEST:
            self._drop()
        return given

    def _drop(self) -> None:
        self._skipping = True
        self._settle(len(self._pending))
        self._pending.clear()

    def _settle(self, size: int) -> None:
        self.offset += size

    def _start_after_gap(self, offset: int) -> None:
        """Most often in the middle of a line, which then is no object and is passed over."""
        self._pending.clear()
        self._skipping = False
        self.offset = offset
        self.gaps += 1
