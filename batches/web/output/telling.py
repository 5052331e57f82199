"""Which stream of a run's output says why it did not go well."""

from batches import paths
from batches.models import Run
from batches.models.run import LIVE, RunStatus
from batches.shown import mask_text
from batches.supervisor import spool
from batches.supervisor.layout import STREAMS

TAIL_BYTES = 8192
LAST_LINES = 20
SHORTEST = 4
"""Characters of a line that can be told from others."""


def telling_stream(run: Run) -> str:
    """stderr, where the run's message quotes it or nothing else was printed."""
    stdout, stderr = STREAMS
    if run.started_at is None or run.status in (*LIVE, RunStatus.COMPLETED):
        return stdout
    folder = paths.agent_dir(run.id)
    if not spool.size(folder, stderr):
        return stdout
    if not spool.size(folder, stdout):
        return stderr
    tail = mask_text(spool.tail(folder, stderr, TAIL_BYTES).data.decode("utf-8", "replace"))
    last = [line.strip() for line in tail.split("\n")][-LAST_LINES:]
    quoted = any(len(line) >= SHORTEST and line in run.message for line in last)
    return stderr if quoted else stdout
