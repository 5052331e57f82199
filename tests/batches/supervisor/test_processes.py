"""A signal reaches the very process that was seen, never another one under its pid."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from batches.supervisor.processes import Process, descendants, find, send
from tests.batches.supervisor.helpers import is_alive, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def stranger() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(["sleep", "1000"])
    yield process
    process.kill()
    process.wait()


def test_a_process_is_known_by_pid_and_start(stranger: "subprocess.Popen[bytes]") -> None:
    process = find(stranger.pid)
    assert process is not None
    assert process.alive
    assert stranger.pid in {child.pid for child in descendants(process.parent)}
    stranger.kill()
    wait_until(lambda: not is_alive(stranger.pid))
    zombie = find(stranger.pid)
    assert zombie is not None
    assert zombie.identity == process.identity
    assert not zombie.alive
    stranger.wait()
    assert find(stranger.pid) is None
    assert not send(process, signal.SIGKILL)


@pytest.mark.parametrize("has_pidfd", [True, False])
def test_a_recycled_pid_is_not_hit(
    stranger: "subprocess.Popen[bytes]", has_pidfd: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_pidfd:
        monkeypatch.setattr("posix.pidfd_open", _refuse)
    process = find(stranger.pid)
    assert process is not None
    process.start -= 1
    assert not send(process, signal.SIGKILL)
    process.start += 1
    assert stranger.poll() is None
    assert send(process, signal.SIGKILL)
    assert stranger.wait() == -signal.SIGKILL


def _refuse(_: int) -> int:
    raise OSError(38, "Function not implemented")


def test_a_name_with_spaces_and_brackets_is_read_right() -> None:
    stat = b"7 (a) b (c)) S 3 4 5 " + b"0 " * 15 + b"99 0 0"
    process = Process(7, stat)
    assert (process.name, process.state, process.parent) == ("a) b (c)", "S", 3)
    assert (process.group, process.session, process.start) == (4, 5, 99)


def test_a_process_that_is_gone_is_not_found(tmp_path: Path) -> None:
    assert find(2**22 + 1) is None
