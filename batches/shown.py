"""What agents left in files, as it may be shown: known secrets are masked, byte for byte.

What is known is what `keys.load_keys` found last; call it once before.
"""

from pathlib import Path

from batches import paths
from batches.models import Run
from batches.models.run import LIVE
from batches.supervisor import spool
from batches.supervisor.spool import Chunk
from costs import redaction
from costs.redaction import Redactor

PIECE = 1024 * 1024


def read_output(run: Run, stream: str, offset: int, limit: int) -> Chunk:
    """As `spool.read`. Of a run under way the last bytes may be held back until it is clear that
    no secret begins there."""
    folder = paths.agent_dir(run.id)
    return _masked(run, spool.read(folder, stream, offset, limit), folder)


def _masked(run: Run, chunk: Chunk, folder: Path) -> Chunk:
    redactor = redaction.known()
    if redactor.longest < 2 or not chunk.data:
        return chunk
    data, behind = _in_its_place(redactor, chunk, folder)
    if run.status in LIVE and not behind:
        data = data[: len(data) - redactor.unsure(data)]
    return Chunk(chunk.stream, chunk.offset, data, chunk.cut)


def _in_its_place(redactor: Redactor, chunk: Chunk, folder: Path) -> tuple[bytes, bytes]:
    """Its bytes, masked, and those that follow: a secret may begin before, or end behind."""
    around = redactor.longest - 1
    start = max(0, chunk.offset - around)
    before = spool.read(folder, chunk.stream, start, chunk.offset - start)
    after = spool.read(folder, chunk.stream, chunk.end, around)
    behind = after.data if not after.cut else b""
    ahead = before.data if before.end == chunk.offset else b""
    return redactor.within(ahead, chunk.data, behind), behind


def masked(folder: Path, chunk: Chunk) -> Chunk:
    """A piece of a spool for pages: as long as it was, and what may be the beginning of a secret at
    the very end is masked too, until more has come."""
    redactor = redaction.known()
    if redactor.longest < 2 or not chunk.data:
        return chunk
    data, behind = _in_its_place(redactor, chunk, folder)
    unsure = 0 if behind else redactor.unsure(data)
    data = data[: len(data) - unsure] + redaction.MASK.encode() * unsure
    return Chunk(chunk.stream, chunk.offset, data, chunk.cut)


def mask_text(text: str) -> str:
    return redaction.text(text)


def mask_file(path: Path) -> None:
    """In place, a piece at a time."""
    redactor = redaction.known()
    if not redactor.longest:
        return
    with path.open("r+b") as file:
        while piece := file.read(PIECE + redactor.longest):
            masked = redactor.data(piece)
            if masked != piece:
                file.seek(-len(piece), 1)
                file.write(masked)
            if len(piece) <= PIECE:
                return
            file.seek(-redactor.longest, 1)


def adds_secret(patch: Path) -> bool:
    """Whether a line that a patch adds holds one that is known; lines may be of any length."""
    redactor = redaction.known()
    if not redactor.longest:
        return False
    added, before = False, b""
    with patch.open("rb") as file:
        while piece := file.readline(PIECE):
            added = added if before else piece.startswith(b"+")
            if added and redactor.data(before + piece) != before + piece:
                return True
            before = b"" if piece.endswith(b"\n") else piece[-redactor.longest :]
    return False
