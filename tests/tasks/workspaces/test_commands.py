import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from tasks.workspaces.commands import (
    CommandError,
    CommandNotFound,
    CommandTimeout,
    OutputTooLarge,
    base_environment,
    run,
)

ENV = base_environment()


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until_dead(pid: int) -> None:
    deadline = time.monotonic() + 20
    while is_alive(pid):
        assert time.monotonic() < deadline, f"{pid} still lives"
        time.sleep(0.01)


def test_output_code_and_errors_come_back_as_bytes(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.buffer.write(b'\\xe9\\0'); sys.stderr.write('no'); sys.exit(3)"
    done = run(python(code), cwd=tmp_path, env=ENV, timeout_s=30)
    assert (done.code, done.stdout, done.stderr, done.ok) == (3, b"\xe9\0", b"no", False)


def test_a_large_input_and_output_cross_without_a_deadlock(tmp_path: Path) -> None:
    data = os.urandom(1 << 20)
    assert run(["cat"], cwd=tmp_path, env=ENV, timeout_s=30, input=data).stdout == data


def test_a_program_that_ignores_its_input_still_ends_well(tmp_path: Path) -> None:
    assert run(["true"], cwd=tmp_path, env=ENV, timeout_s=30, input=b"x" * (1 << 20)).ok


def test_without_input_a_program_sees_the_end_at_once(tmp_path: Path) -> None:
    assert run(["cat"], cwd=tmp_path, env=ENV, timeout_s=30).stdout == b""


def test_the_environment_is_exactly_what_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEFRAME_SECRET_KEY", "planted")
    monkeypatch.setenv("GIT_DIR", "/planted")
    done = run(["env"], cwd=tmp_path, env={**base_environment(), "X": "1"}, timeout_s=30)
    assert b"X=1" in done.stdout
    assert b"planted" not in done.stdout


def test_a_program_that_takes_too_long_dies_with_its_children(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = f"sleep 1000 & echo $! > {pid_file}.new; mv {pid_file}.new {pid_file}; wait"
    with pytest.raises(CommandTimeout, match=r"sh was stopped after 2 s"):
        run(["sh", "-c", script], cwd=tmp_path, env=ENV, timeout_s=2)
    wait_until_dead(int(pid_file.read_text()))


def test_a_program_that_closes_its_output_and_stays_is_stopped_too(tmp_path: Path) -> None:
    with pytest.raises(CommandTimeout):
        run(["sh", "-c", "exec >&- 2>&-; sleep 1000"], cwd=tmp_path, env=ENV, timeout_s=0.5)


def test_a_background_child_that_holds_the_output_open_does_not_hold_us(tmp_path: Path) -> None:
    started = time.monotonic()
    done = run(["sh", "-c", "sleep 1000 & echo $!"], cwd=tmp_path, env=ENV, timeout_s=60)
    assert time.monotonic() - started < 30
    wait_until_dead(int(done.stdout))


def test_more_output_than_allowed_stops_the_program(tmp_path: Path) -> None:
    with pytest.raises(OutputTooLarge, match="more than 1000 bytes"):
        run(["yes"], cwd=tmp_path, env=ENV, timeout_s=30, output_limit=1000)


def test_large_output_can_go_to_a_file(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = "import sys\nfor _ in range(300): sys.stdout.write('x' * 1000)"
    done = run(python(code), cwd=tmp_path, env=ENV, timeout_s=30, output=out, output_limit=10)
    assert (done.code, done.stdout, out.stat().st_size) == (0, b"", 300_000)


def test_a_program_killed_by_a_signal_tells_which(tmp_path: Path) -> None:
    done = run(["sh", "-c", "kill -TERM $$"], cwd=tmp_path, env=ENV, timeout_s=30)
    assert done.code == -signal.SIGTERM


@pytest.mark.parametrize("name", ["no-such-program", "./plain-file"])
def test_a_program_that_cannot_be_run_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "plain-file").write_text("not a program")
    with pytest.raises(CommandNotFound, match=name):
        run([name], cwd=tmp_path, env=ENV, timeout_s=30)


def test_a_missing_folder_is_not_taken_for_a_missing_program(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"cannot start in .*gone") as caught:
        run(["true"], cwd=tmp_path / "gone", env=ENV, timeout_s=30)
    assert not isinstance(caught.value, CommandNotFound)


def test_it_is_a_session_of_its_own_so_a_terminal_signal_does_not_reach_it(tmp_path: Path) -> None:
    done = run(
        python("import os; print(os.getsid(0) == os.getpid())"), cwd=tmp_path, env=ENV, timeout_s=30
    )
    assert done.stdout == b"True\n"


def test_no_open_file_of_ours_leaks_but_those_passed_on(tmp_path: Path) -> None:
    secret = os.open(tmp_path / "secret", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(secret, True)
    code = f"import os\ntry: os.fstat({secret}); print('open')\nexcept OSError: print('closed')"
    try:
        closed = run(python(code), cwd=tmp_path, env=ENV, timeout_s=30)
        passed = run(python(code), cwd=tmp_path, env=ENV, timeout_s=30, pass_fds=[secret])
    finally:
        os.close(secret)
    assert (closed.stdout, passed.stdout) == (b"closed\n", b"open\n")


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts files in /proc")
def test_many_calls_in_threads_leave_no_open_file_and_no_zombie(tmp_path: Path) -> None:
    def work() -> None:
        for _ in range(5):
            assert run(["echo", "x"], cwd=tmp_path, env=ENV, timeout_s=60).stdout == b"x\n"

    work()
    before = len(list(Path("/proc/self/fd").iterdir()))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
