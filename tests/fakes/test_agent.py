import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes import AGENT

PATIENCE_S = 30


def run(
    tree: Path, *directives: str, prompt: str = "", stdin: bytes = b"", **env: str
) -> subprocess.CompletedProcess[bytes]:
    prompt_file = tree.parent / "prompt.md"
    prompt_file.write_text(prompt)
    return subprocess.run(
        [*AGENT, *directives],
        cwd=tree,
        env={"PATH": os.environ["PATH"], "CODEFRAME_PROMPT_FILE": str(prompt_file), **env},
        input=stdin,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )


def eventually(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """A zombie counts as dead: in a container nobody may be there to reap it."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        os.kill(pid, 0)
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder


def test_it_follows_the_block_of_its_prompt_and_nothing_else_in_it(tree: Path) -> None:
    prompt = "# Title\nexit 9\n\n  > agent:\n  > print 'a  b'\n  > write new.txt hi\n\nexit 8\n"
    result = run(tree, prompt=prompt)
    assert (result.returncode, result.stdout) == (0, b"a  b\n")
    assert (tree / "new.txt").read_text() == "hi\n"


def test_arguments_come_before_the_prompt(tree: Path) -> None:
    result = run(tree, "print first", prompt="agent:\nprint second")
    assert result.stdout == b"first\nsecond\n"


def test_a_prompt_given_as_an_argument_takes_the_place_of_the_file(tree: Path) -> None:
    result = run(tree, "Do it\n\nagent:\nprint once\n", prompt="agent:\nprint from the file\n")
    assert result.stdout == b"once\n"


def test_a_prompt_without_directives_is_no_failure(tree: Path) -> None:
    result = run(tree, prompt="Just words")
    assert (result.returncode, result.stdout) == (0, b"agent: no directives, nothing to do\n")


@pytest.mark.parametrize("bad", ["wriet a b", "exit", "exit 1 2", "print 'unclosed"])
def test_a_bad_directive_stops_it_before_anything_is_done(tree: Path, bad: str) -> None:
    result = run(tree, "touch done", bad)
    assert result.returncode == 64
    assert b"bad directive" in result.stderr
    assert not (tree / "done").exists()


def test_it_edits_files(tree: Path) -> None:
    (tree / "old").mkdir()
    (tree / "old" / "file").touch()
    (tree / "gone").touch()
    result = run(
        tree,
        r'write deep/er/a.py "x = 1\ny = 2"',
        "append deep/er/a.py z = 3",
        "delete old",
        "delete gone",
        "touch empty",
        "write $CODEFRAME_TASK_ID.txt of {}",
        CODEFRAME_TASK_ID="42",
    )
    assert (result.returncode, result.stderr) == (0, b"")
    assert (tree / "deep" / "er" / "a.py").read_text() == "x = 1\ny = 2\nz = 3\n"
    assert sorted(path.name for path in tree.iterdir()) == ["42.txt", "deep", "empty"]


def test_it_commits(tree: Path) -> None:
    subprocess.run(["git", "init", "-q", tree], check=True)
    assert run(tree, "write a b", "commit Add a file").returncode == 0
    log = subprocess.run(
        ["git", "-C", tree, "log", "--format=%s", "--name-only"], capture_output=True, check=True
    )
    assert log.stdout.split(b"\n") == [b"Add a file", b"", b"a", b""]


def test_it_writes_what_it_is_told_to_both_streams(tree: Path) -> None:
    result = run(tree, "raw 00ff 0a", "line 200000", "spam 2500 12", "stderr oh no", "tick 2 0")
    head, long, *rest = result.stdout.split(b"\n")
    assert head == b"\x00\xff"
    assert long == b"x" * 200_000
    assert rest[:2] == [b"0 xxxxxxxxxx", b"1 xxxxxxxxxx"]
    assert rest[2499:] == [b"2499 xxxxxxx", b"tick 1", b"tick 2", b""]
    assert {len(line) for line in rest[:2500]} == {12}
    assert result.stderr == b"oh no\n"


def test_exit_and_shell_codes_are_its_own(tree: Path) -> None:
    assert run(tree, "exit 7", "touch after").returncode == 7
    assert run(tree, "sh 'echo out; exit 5'", "touch after").returncode == 5
    assert run(tree, "crash", "touch after").returncode == -signal.SIGKILL
    assert not (tree / "after").exists()


def test_it_fails_until_the_attempt_that_is_named(tree: Path) -> None:
    codes = [
        run(tree, "fail-until 3", CODEFRAME_ATTEMPT=number).returncode for number in ("1", "2", "3")
    ]
    assert codes == [1, 1, 0]
    assert run(tree, "fail-until 2").returncode == 1


def test_starts_are_counted_in_one_file(tree: Path) -> None:
    log = tree.parent / "starts"
    run(tree, f"count {log}", CODEFRAME_RUN_ID="7", CODEFRAME_ATTEMPT="2")
    run(tree, f"count {log}")
    first, second = (line.split() for line in log.read_text().splitlines())
    assert (first[:2], second[:2]) == (["7", "2"], ["-", "-"])
    assert first[2] != second[2]


def test_it_reads_its_input_to_the_end(tree: Path) -> None:
    result = run(tree, "read-stdin kept", stdin=b"\0" * 200_000)
    assert result.stdout == b"stdin 200000 bytes\n"
    assert (tree / "kept").read_bytes() == b"\0" * 200_000


def test_it_shows_its_environment(tree: Path) -> None:
    path = tree.parent / "env.json"
    run(tree, f"env {path}", ODD="a\nb")
    seen = json.loads(path.read_text())
    assert seen["ODD"] == "a\nb"
    assert set(seen) - {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"} == {
        "PATH",
        "CODEFRAME_PROMPT_FILE",
        "ODD",
    }
    assert sorted(found.name for found in tree.parent.iterdir()) == [
        "env.json",
        "prompt.md",
        "tree",
    ]


def test_it_waits_for_a_file_and_gives_up_at_the_limit(tree: Path) -> None:
    waiting = subprocess.Popen([*AGENT, "touch here", "wait-file go", "touch went"], cwd=tree)
    eventually((tree / "here").exists)
    assert not (tree / "went").exists()
    (tree / "go").touch()
    assert waiting.wait(PATIENCE_S) == 0
    assert (tree / "went").exists()
    assert run(tree, "wait-file never 0.05").returncode == 75


def test_it_outlives_sigterm_once_told_to(tree: Path) -> None:
    child = subprocess.Popen(
        [*AGENT, "trap-term", "touch set", "wait-file go", "exit 3"],
        cwd=tree,
        stdout=subprocess.PIPE,
    )
    eventually((tree / "set").exists)
    child.send_signal(signal.SIGTERM)
    assert child.stdout is not None
    assert child.stdout.readline() == b"caught 15\n"
    (tree / "go").touch()
    child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 3


def test_a_spawned_program_outlives_it_in_its_own_session(tree: Path) -> None:
    output = tree / "output"
    with output.open("wb") as stdout:
        subprocess.run([*AGENT, "spawn sleep 60"], cwd=tree, stdout=stdout, check=True)
    word, pid = output.read_text().split()
    try:
        assert word == "spawned"
        assert is_alive(int(pid))
        assert os.getsid(int(pid)) != os.getsid(0)
    finally:
        os.kill(int(pid), signal.SIGKILL)
    eventually(lambda: not is_alive(int(pid)))


def test_a_late_write_comes_after_the_end(tree: Path) -> None:
    output = tree.parent / "output"
    with output.open("wb") as stdout:
        subprocess.run([*AGENT, "fork-late-write late 2"], cwd=tree, stdout=stdout, check=True)
    assert not (tree / "late").exists()
    eventually(lambda: (tree / "late").exists() and (tree / "late").read_text() == "late\n")
