"""An agent gets what its spec says and nothing else; what cannot start says why."""

import json
import os
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from batches.supervisor import agent_supervisor
from batches.supervisor.client import LaunchSpec, SupervisorStartError, start
from tests.batches.supervisor.helpers import (
    follow_on,
    parent_of,
    python,
    run,
    sh,
    spec_of,
    supervisor_of,
)


def test_the_environment_is_the_given_one_and_the_marker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEFRAME_SECRET_KEY", "a-secret-of-the-server")
    env = {"PATH": "/usr/bin:/bin", "ODD": "a=b\n\udce9", "HOME": "/nowhere"}
    _, output = run(tmp_path / "run", ("/usr/bin/env", "-0"), env=env)
    got = dict(item.split(b"=", 1) for item in output.stdout.rstrip(b"\0").split(b"\0"))
    wanted = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
    assert got == wanted | {b"CODEFRAME_RUN_DIR": os.fsencode((tmp_path / "run").resolve())}


def test_the_supervisor_shows_the_agent_no_secret_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEFRAME_SECRET_KEY", "a-secret-of-the-server")
    _, output = run(tmp_path / "run", sh("cat /proc/$PPID/environ"))
    assert b"PATH=" in output.stdout
    assert b"secret" not in output.stdout


def test_arguments_are_not_read_by_a_shell(tmp_path: Path) -> None:
    arguments = ("$HOME", "a b", "*", "'\"`;&|", "", "\u00e9\u4e2d", "-n")
    _, output = run(tmp_path / "run", python("import sys; print(ascii(sys.argv[1:]))", *arguments))
    assert output.stdout.decode() == ascii(list(arguments)) + "\n"


def test_the_agent_has_three_descriptors_a_session_and_default_signals(tmp_path: Path) -> None:
    script = """
import os
print([fd for fd in range(64) if os.path.exists(f"/proc/self/fd/{fd}")])
print(os.getsid(0) == os.getpgid(0) == os.getpid(), os.getcwd(), os.readlink("/proc/self/fd/0"))
"""
    inherited = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(inherited, True)
    try:
        _, output = run(tmp_path / "run", python(script), cwd=str(tmp_path))
    finally:
        os.close(inherited)
    assert output.stdout.decode() == f"[0, 1, 2]\nTrue {tmp_path.resolve()} /dev/null\n"


def test_no_signal_is_ignored_or_blocked_for_the_agent(tmp_path: Path) -> None:
    _, output = run(tmp_path / "run", sh("grep -E '^Sig(Blk|Ign)' /proc/self/status"))
    masks = [int(line.split()[1], 16) for line in output.stdout.decode().splitlines()]
    # The C library keeps 32 and 33 for itself: how they stand is inherited, and cannot be set.
    assert [mask & ~(0b11 << 31) for mask in masks] == [0, 0]


def test_standard_input_is_the_given_file(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt"
    prompt.write_text("do this")
    _, output = run(tmp_path / "run", ("cat",), stdin_path=str(prompt))
    assert output.stdout == b"do this"


def test_limits_are_set(tmp_path: Path) -> None:
    soft = min(200, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    _, output = run(
        tmp_path / "run",
        sh("ulimit -n; ulimit -c"),
        limits={"RLIMIT_NOFILE": soft, "RLIMIT_CORE": 0},
    )
    assert output.stdout.decode().split() == [str(soft), "0"]


def not_executable(tmp_path: Path) -> dict[str, object]:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o644)
    return {"argv": (str(script),), "says": ("Permission denied", str(script))}


def no_shebang(tmp_path: Path) -> dict[str, object]:
    script = tmp_path / "script"
    script.write_text("echo no shebang\n")
    script.chmod(0o755)
    return {"argv": (str(script),), "says": ("Exec format error", str(script))}


def missing(tmp_path: Path) -> dict[str, object]:
    path = str(tmp_path / "no-such-agent")
    return {"argv": (path,), "says": ("No such file", path)}


def missing_on_path(tmp_path: Path) -> dict[str, object]:
    return {"argv": ("no-such-agent",), "says": ("No such file", "on PATH", "no-such-agent")}


def forbidden_on_path(tmp_path: Path) -> dict[str, object]:
    not_executable(tmp_path)
    env = {"PATH": f"{tmp_path}:/nowhere"}
    return {"argv": ("script",), "env": env, "says": ("Permission denied", f"{tmp_path}/script")}


def missing_cwd(tmp_path: Path) -> dict[str, object]:
    cwd = str(tmp_path / "gone")
    return {"argv": ("true",), "cwd": cwd, "says": ("No such file", cwd)}


def missing_stdin(tmp_path: Path) -> dict[str, object]:
    path = str(tmp_path / "no-prompt")
    return {"argv": ("true",), "stdin_path": path, "says": ("No such file", path)}


def limit_too_high(tmp_path: Path) -> dict[str, object]:
    limits = {"RLIMIT_NOFILE": 1 << 40}
    return {"argv": ("true",), "limits": limits, "says": ("cannot start true",)}


@pytest.mark.parametrize(
    "case",
    [
        missing,
        missing_on_path,
        not_executable,
        forbidden_on_path,
        no_shebang,
        missing_cwd,
        missing_stdin,
        limit_too_high,
    ],
)
def test_what_cannot_start_says_why(tmp_path: Path, case: object) -> None:
    fields = case(tmp_path)  # type: ignore[operator]
    says = fields.pop("says")
    record, output = run(tmp_path / "run", fields.pop("argv"), **fields)
    assert (record.cause, record.code, record.signal) == ("start_failed", None, None)
    assert all(text in record.reason for text in says), record.reason
    assert output.stdout == output.stderr == b""


@pytest.mark.parametrize(
    "fields",
    [
        {"argv": ()},
        {"argv": ("a\0b",)},
        {"env": {"A": "\0"}},
        {"env": {"A=B": "x"}},
        {"stop_signal": "SIGNOTHING"},
        {"limits": {"RLIMIT_NOTHING": 1}},
        {"limits": {"error": 1}},
        {"spool_bytes": 10},
    ],
)
def test_a_spec_that_cannot_work_is_refused_at_once(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        spec_of(**{"argv": ("true",)} | fields)  # type: ignore[arg-type]


def test_what_is_written_is_for_the_owner_only(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    run(run_dir, sh("echo out; echo err >&2"))
    paths = [run_dir, *run_dir.rglob("*")]
    assert [path.name for path in paths if stat.S_IMODE(path.stat().st_mode) & 0o077] == []
    assert {path.name for path in run_dir.iterdir()} == {
        "exit.json",
        "follow.lock",
        "process.json",
        "spec.json",
        "stderr",
        "stdout",
        "supervisor.log",
    }
    assert (run_dir / "supervisor.log").read_bytes() == b""


def test_a_place_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with pytest.raises(
        SupervisorStartError, match=f"cannot prepare {blocked}/run: Not a directory"
    ):
        start(blocked / "run", spec_of(("true",)))


def test_the_supervisor_imports_little(tmp_path: Path) -> None:
    """Each heavy module would cost milliseconds in every run."""
    run_dir = tmp_path / "run"
    modules = run_child_side(run_dir, spec_of(("true",)))
    heavy = {"json", "re", "enum", "signal", "subprocess", "pathlib", "logging", "typing"}
    assert (
        modules & (heavy | {"dataclasses", "collections", "ctypes", "os", "site", "django"})
        == set()
    )
    assert json.loads((run_dir / "exit.json").read_text())["cause"] == "exited"


def run_child_side(run_dir: Path, spec: LaunchSpec, *command: str) -> set[str]:
    """The names of the modules it imports."""
    run_dir.mkdir()
    (run_dir / "spec.json").write_text(json.dumps(spec.as_json()))
    command = command or (agent_supervisor.__file__,)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", *command, str(run_dir)],
        env={},
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


def test_a_clock_that_jumps_ends_nothing(tmp_path: Path) -> None:
    """The wall clock leaps an hour with every look at it."""
    leaping = (
        "import sys, time, itertools\n"
        "time.time = itertools.count(10**9, 3600).__next__\n"
        "sys.argv[:1] = []\n"
        f"sys.path.append({str(Path(agent_supervisor.__file__).parents[2])!r})\n"
        "from batches.supervisor.child.main import main\n"
        "main(sys.argv[0])"
    )
    limits = {"deadline_s": 60, "silence_s": 60, "orphan_s": 60}
    run_child_side(tmp_path / "run", spec_of(sh("sleep 1.2"), **limits), "-c", leaping)
    note = json.loads((tmp_path / "run" / "exit.json").read_text())
    assert note["cause"] == "exited"
    assert note["started_at"] == 10**9
    assert 1.2 <= note["duration_s"] < 60


def test_parent_of_an_agent_is_its_supervisor(tmp_path: Path) -> None:
    _, output = run(tmp_path / "run", sh("echo $PPID"))
    note = json.loads((tmp_path / "run" / "process.json").read_text())
    assert int(output.stdout) == note["supervisor"]["pid"] != parent_of(os.getpid())


def test_a_stop_in_the_middle_of_the_fork_is_not_swallowed() -> None:
    """Sent while the fork still has the supervisor's handlers; each of fifty must die of it."""
    script = f"""
import sys
sys.path.append({str(Path(agent_supervisor.__file__).parents[2])!r})
from batches.supervisor.child.launching import Agent
from batches.supervisor.child.main import listen
from batches.supervisor.native import os, signal
listen()
spec = dict(argv=["sleep", "1000"], cwd="/", env={{}}, stdin_path=None, limits={{}})
for _ in range(50):
    agent = Agent(spec)
    os.kill(agent.pid, signal.SIGTERM)
    agent.release()
    assert os.WTERMSIG(os.waitpid(agent.pid, 0)[1]) == signal.SIGTERM
"""
    subprocess.run([*python(script)], check=True, timeout=60)


def test_a_signal_blocked_by_the_caller_still_reaches_the_supervisor(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
    try:
        handle = start(run_dir, spec_of(sh("sleep 1000")))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.kill(supervisor_of(run_dir), signal.SIGTERM)
    record = follow_on(handle)
    assert (record.cause, record.signal) == ("stopped", signal.SIGTERM)
