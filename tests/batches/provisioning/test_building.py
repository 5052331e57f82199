"""Property 26, and what a crash, a stop or a stranger may do to a shared environment."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from batches.provisioning.building import BuildFailed, DiskTooFull, environment, key_of
from batches.provisioning.programs import Program
from batches.provisioning.sealing import read_seal
from batches.provisioning.steps import StepOutcome
from batches.provisioning.tools.base import Need
from tests.batches.conducting import lines, wait_until
from tests.batches.provisioning.conftest import Asked, Orders


def counting(tmp_path: Path, more: str = "") -> tuple[str, Path]:
    """A script that tells of each time it is run."""
    log = tmp_path / "builds"
    return f"echo built >> {log}\necho content > $1/file\n{more}\n", log


def test_of_two_that_need_the_same_one_builds_and_the_other_waits(
    orders: Orders, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    script, log = counting(tmp_path, f"while [ ! -e {go} ]; do sleep 0.05; done")
    found: list[tuple[Path, bool]] = []

    def need() -> None:
        with environment(orders(script)) as ready:
            found.append((ready.folder, ready.built))

    threads = [threading.Thread(target=need) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_until(orders.waited.is_set, "somebody waits")
    go.touch()
    for thread in threads:
        thread.join(60)
    assert lines(log) == ["built"]
    assert len(found) == 4
    assert len({folder for folder, _ in found}) == 1
    assert [built for _, built in found].count(True) == 1
    assert (found[0][0] / "made/bin/file").read_text() == "content\n"


def test_a_probe_that_fails_removes_what_was_built_and_is_not_tried_again_at_once(
    orders: Orders, tmp_path: Path
) -> None:
    script, log = counting(tmp_path)
    probe = ("/bin/sh", "-c", "echo it is broken >&2; exit 3")
    for _ in range(2):
        with (
            pytest.raises(BuildFailed, match="it is broken"),
            environment(orders(script, probes=[probe])),
        ):
            pass
    assert orders.folders() == []
    assert lines(log) == ["built"]
    assert orders.steps[-1].exit_code == 3
    transcript = orders.root / "work-1" / orders.steps[-1].log
    assert any(
        b"it is broken" in path.read_bytes() for path in transcript.rglob("*") if path.is_file()
    )


def test_what_a_stranger_has_changed_is_built_anew(orders: Orders, tmp_path: Path) -> None:
    script, log = counting(tmp_path)
    with environment(orders(script)) as ready:
        file = ready.folder / "made/bin/file"
    before = file.stat()
    file.chmod(0o644)
    file.write_text("CONTENT\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with environment(orders(script)) as ready:
        assert ready.built
        assert ready.was_changed
        assert file.read_text() == "content\n"
    assert lines(log) == ["built", "built"]
    with environment(orders(script)) as ready:
        assert not ready.built


def test_what_has_no_seal_is_never_used(orders: Orders, tmp_path: Path) -> None:
    script, log = counting(tmp_path)
    with environment(orders(script)) as ready:
        folder = ready.folder
    (folder / "seal.json").unlink()
    (folder / "made/bin/left-over").touch()
    with environment(orders(script)) as ready:
        assert ready.built
        assert not (folder / "made/bin/left-over").exists()
    assert lines(log) == ["built", "built"]


def test_a_stop_ends_the_command_and_leaves_nothing(orders: Orders, tmp_path: Path) -> None:
    """Properties 19 and 20."""
    pid = tmp_path / "pid"
    script = f"sleep 300 & echo $! > {pid}.part; mv {pid}.part {pid}; wait"
    failed: list[BaseException] = []

    def need() -> None:
        try:
            with environment(orders(script)):
                pass
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=need)
    thread.start()
    wait_until(pid.exists, "the command runs")
    orders.stop.set()
    thread.join(60)
    assert [type(error) for error in failed] == [Asked]
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert orders.folders() == []
    assert orders.steps[-1].outcome is StepOutcome.INTERRUPTED


def test_a_stop_ends_the_waiting(orders: Orders, tmp_path: Path) -> None:
    go = tmp_path / "go"
    script, _ = counting(tmp_path, f"while [ ! -e {go} ]; do sleep 0.05; done")
    other = Orders(tmp_path)

    def build() -> None:
        with environment(orders(script)):
            pass

    def wait() -> None:
        with pytest.raises(Asked), environment(other(script)):
            pass

    builder, waiter = threading.Thread(target=build), threading.Thread(target=wait)
    builder.start()
    wait_until(lambda: lines(tmp_path / "builds"), "the first builds")
    waiter.start()
    wait_until(other.waited.is_set, "the second waits")
    other.stop.set()
    waiter.join(10)
    assert not waiter.is_alive()
    assert builder.is_alive()
    go.touch()
    builder.join(60)


CRASHING = """\
import sys
from pathlib import Path
from batches.provisioning import steps, tools
from tests.batches.provisioning.conftest import Orders
from tests.batches.provisioning.toy import CLASS, NAME
from batches.provisioning.building import environment

tools.TOOLS[NAME] = CLASS
steps.ORPHAN_S = 1.0
orders = Orders(Path(sys.argv[1]) / "killed")
orders.home = Path(sys.argv[1]) / "home"
with environment(orders(sys.argv[2])):
    pass
"""


def test_after_the_builder_is_killed_the_next_builds_from_nothing(
    orders: Orders, tmp_path: Path
) -> None:
    """Its supervisor holds the lock on, so nobody builds beside what it still runs."""
    script, log = counting(tmp_path, f"[ -e {tmp_path}/second ] || sleep 300")
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CRASHING), str(tmp_path), script],
        cwd=Path(__file__).resolve().parents[3],
    )
    wait_until(lambda: lines(log), "the first builds")
    (tmp_path / "second").touch()
    child.send_signal(signal.SIGKILL)
    child.wait(10)
    (half,) = orders.folders()
    assert read_seal(half) is None
    (half / "made/bin/half").touch()
    with environment(orders(script)) as ready:
        assert ready.folder == half
        assert not (half / "made/bin/half").exists()
    assert orders.waited.is_set()
    assert lines(log) == ["built", "built"]


def test_nothing_is_built_below_the_disk_floor(orders: Orders, tmp_path: Path) -> None:
    """Pitfall 42."""
    script, log = counting(tmp_path)
    with (
        pytest.raises(DiskTooFull, match="kept free"),
        environment(orders(script, disk_floor=2**62)),
    ):
        pass
    assert lines(log) == []
    assert orders.folders() == []


def test_a_build_sees_nothing_of_the_server(
    orders: Orders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pitfall 37, property 40: neither its virtual environment nor its secrets."""
    for name in ("VIRTUAL_ENV", "PYTHONPATH", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL"):
        monkeypatch.setenv(name, "/server")
    own = str(Path(sys.prefix) / "bin")
    monkeypatch.setenv("PATH", f"{own}:{os.environ['PATH']}")
    with environment(orders("env > $1/env")) as ready:
        seen = dict(
            line.split("=", 1) for line in lines(ready.folder / "made/bin/env") if "=" in line
        )
    assert "/server" not in seen.values()
    assert own not in seen["PATH"].split(":")
    assert seen["HOME"].startswith(str(tmp_path))
    assert seen["TOY"] == "1"


def test_the_key_is_of_all_that_decides_what_is_built() -> None:
    need = Need(tool="toy", files={"toy.lock": b"a"})
    programs = {"sh": Program(path=Path("/bin/sh"), version="1")}
    newer = {"sh": Program(path=Path("/bin/sh"), version="2")}
    other = Need(tool="toy", files={"toy.lock": b"b"})
    renamed = Need(tool="toy", files={"toy.txt": b"a"})
    keys = [
        key_of(need, programs, []),
        key_of(need, newer, []),
        key_of(other, programs, []),
        key_of(renamed, programs, []),
        key_of(need, programs, [("true",)]),
    ]
    assert len(set(keys)) == len(keys)
    assert key_of(Need(tool="toy", files={"toy.lock": b"a"}), programs, []) == keys[0]
