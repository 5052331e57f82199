"""Real agents in a line of shell or Python, and conditions to wait for."""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from batches.supervisor.client import (
    Chunk,
    ExitRecord,
    Handle,
    LaunchSpec,
    StopRequest,
    follow,
    run_to_end,
    start,
)

DEADLINE_S = 60.0
PYTHON = (sys.executable, "-I", "-S", "-u", "-c")


def sh(script: str, *arguments: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", script, "agent", *arguments)


def python(script: str, *arguments: str) -> tuple[str, ...]:
    return (*PYTHON, script, *arguments)


def spec_of(argv: Sequence[str], **fields: Any) -> LaunchSpec:
    given: dict[str, Any] = {
        "argv": tuple(argv),
        "cwd": "/",
        "env": {"PATH": os.environ["PATH"]},
        "deadline_s": DEADLINE_S,
        "grace_s": 5.0,
        "spool_bytes": 1024 * 1024,
    }
    return LaunchSpec(**given | fields)


def never() -> StopRequest | None:
    return None


class Output:
    """Collects what a follower is handed, and checks that it is contiguous."""

    def __init__(self) -> None:
        self.data = {"stdout": b"", "stderr": b""}
        self.next = {"stdout": 0, "stderr": 0}
        self.cut = 0

    def __call__(self, chunk: Chunk) -> None:
        assert chunk.offset == self.next[chunk.stream] + chunk.cut, "a gap that is not told"
        self.next[chunk.stream] = chunk.end
        self.data[chunk.stream] += chunk.data
        self.cut += chunk.cut

    @property
    def stdout(self) -> bytes:
        return self.data["stdout"]

    @property
    def stderr(self) -> bytes:
        return self.data["stderr"]


def run(run_dir: Path, argv: Sequence[str], **fields: Any) -> tuple[ExitRecord, Output]:
    output = Output()
    record = run_to_end(run_dir, spec_of(argv, **fields), never, on_output=output, poll_s=0.02)
    return record, output


def follow_on(
    handle: Handle, output: Callable[[Chunk], None] | None = None, **fields: Any
) -> ExitRecord:
    given: dict[str, Any] = {"should_stop": never, "offsets": {}, "poll_s": 0.02}
    return follow(handle, on_output=output or Output(), **given | fields)


def stop_when(condition: Callable[[], object], request: StopRequest) -> Callable[[], Any]:
    return lambda: request if condition() else None


def wait_until(condition: Callable[[], object], what: str = "") -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"never came true: {what or condition}"
        time.sleep(0.01)


def stat_of(pid: int) -> list[bytes]:
    """From the state on, which is field 3 of proc(5); empty when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def is_alive(pid: int) -> bool:
    stat = stat_of(pid)
    return bool(stat) and stat[0] not in (b"Z", b"X")


def parent_of(pid: int) -> int:
    return int(stat_of(pid)[1])


def supervisor_of(run_dir: Path) -> int:
    """Its pid, once the agent is up."""
    wait_until(lambda: marked(run_dir), "a running agent")
    return int(json.loads((run_dir / "process.json").read_text())["supervisor"]["pid"])


def marked(run_dir: Path) -> list[int]:
    """Living processes that carry the run's marker, found without the code under test."""
    marker = f"CODEFRAME_RUN_DIR={run_dir.resolve()}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or not is_alive(int(entry.name)):
            continue
        try:
            environ = (entry / "environ").read_bytes()
        except OSError:
            continue
        if marker in environ.split(b"\0"):
            found.append(int(entry.name))
    return found


def start_and_find(run_dir: Path, argv: tuple[str, ...], **fields: object) -> tuple[Handle, int]:
    """The handle of a run whose agent is up, and the pid of its supervisor."""
    handle = start(run_dir, spec_of(argv, **fields))
    return handle, supervisor_of(run_dir)
