import os
import time
from pathlib import Path

import pytest

from batches.engines.builtin.tools.shell import Shell
from tests.batches.conducting import wait_until


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path, {"PATH": os.environ["PATH"]})


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_output_and_code_are_the_commands_own(shell: Shell) -> None:
    done = shell.run("echo out; echo err >&2; exit 3", 10, 4_000)
    assert (done.code, done.output) == (3, "out\nerr\n")


def test_it_has_no_input(shell: Shell) -> None:
    assert shell.run("cat; echo ended", 10, 4_000).output == "ended\n"


def test_head_and_tail_of_long_output_are_kept(shell: Shell) -> None:
    done = shell.run("seq 1 2000000", 30, 1_000)
    assert done.code == 0
    assert done.output.startswith("1\n2\n")
    assert done.output.endswith("1999999\n2000000\n")
    assert "left out" in done.output
    assert len(done.output) < 1_200


def test_output_that_is_no_text_is_shown_as_far_as_it_goes(shell: Shell) -> None:
    assert shell.run(r"printf 'a\377\000b'", 10, 100).output == "a\N{REPLACEMENT CHARACTER}\0b"


def test_the_deadline_ends_the_command_and_its_children(shell: Shell, tmp_path: Path) -> None:
    before = time.monotonic()
    done = shell.run("sleep 300 & echo $! >child; sleep 300", 0.5, 100)
    assert done.code is None
    assert time.monotonic() - before < 5
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: not is_alive(child), "the child is gone")


def test_a_child_that_holds_the_output_does_not_hold_up_the_command(
    shell: Shell, tmp_path: Path
) -> None:
    before = time.monotonic()
    done = shell.run("sleep 300 & echo $! >child; echo started", 30, 100)
    assert (done.code, done.output) == (0, "started\n")
    assert time.monotonic() - before < 5
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: not is_alive(child), "the child is gone")


def test_a_command_that_closes_its_output_is_waited_for(shell: Shell, tmp_path: Path) -> None:
    assert shell.run("exec >&- 2>&-; sleep 0.3; touch done; exit 4", 10, 100).code == 4
    assert (tmp_path / "done").exists()
    assert shell.run("exec >&- 2>&-; sleep 300", 0.3, 100).code is None
