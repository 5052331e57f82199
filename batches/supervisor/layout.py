"""What lies in a RUN_DIR, said once for both sides. Light: the child side pays for each import."""

SPEC = "spec.json"
PROCESS = "process.json"
STOP = "stop.json"
EXIT = "exit.json"
EXIT_RESERVE = "exit.reserve"
EXIT_RESERVE_BYTES = 32 * 1024
FOLLOW_LOCK = "follow.lock"
LOG = "supervisor.log"

MARKER = "CODEFRAME_RUN_DIR"

STDOUT = "stdout"
STDERR = "stderr"
STREAMS = (STDOUT, STDERR)

SEGMENTS_KEPT = 16
HEAD_SEGMENTS = 4
SMALLEST_SEGMENT = 1024

SMALLEST_SPOOL = SMALLEST_SEGMENT * (SEGMENTS_KEPT + 1)


def segment_name(offset: int) -> str:
    return f"{offset:020d}"


def segment_size(spool_bytes: int) -> int:
    """One segment more than is kept exists for a moment, so the cap holds at every moment."""
    return max(SMALLEST_SEGMENT, spool_bytes // (SEGMENTS_KEPT + 1))
