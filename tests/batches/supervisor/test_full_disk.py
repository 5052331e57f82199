"""A full disk costs output, which is counted, and never the agent, its end or its record."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from batches.supervisor.client import SupervisorStartError, start, stop
from batches.supervisor.spool import size
from tests.batches.supervisor.helpers import (
    Output,
    follow_on,
    marked,
    python,
    sh,
    spec_of,
    wait_until,
)

SIZE = 2 * 1024 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount = tmp_path / "small"
    mount.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", mount], capture_output=True
    )
    if done.returncode:
        pytest.skip(f"cannot mount: {done.stderr.decode().strip()}")
    yield mount
    subprocess.run(["umount", "-l", mount], check=True)


def fill(disk: Path) -> Path:
    ballast = disk / "ballast"
    with ballast.open("ab", buffering=0) as file:
        for step in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"b" * step)
            except OSError:
                continue
    return ballast


def test_a_start_on_a_full_disk_says_so(small_disk: Path) -> None:
    fill(small_disk)
    with pytest.raises(SupervisorStartError, match="No space left on device"):
        start(small_disk / "run", spec_of(("true",)))


def test_output_that_does_not_fit_is_counted_and_the_agent_goes_on(small_disk: Path) -> None:
    script = "import sys\nfor i in range(400): sys.stdout.buffer.write(b'%019d\\n' % i * 1000)"
    handle = start(small_disk / "run", spec_of(python(script), spool_bytes=64 << 20))
    output = Output()
    record = follow_on(handle, output)
    assert (record.cause, record.code) == ("exited", 0)
    assert record.stdout_bytes == 400 * 20 * 1000 == output.next["stdout"]
    assert record.lost_bytes == output.cut > 0
    assert "No space left on device" in record.reason
    assert output.stdout.startswith(b"%019d\n" % 0)


def test_output_comes_back_with_the_space(small_disk: Path, tmp_path: Path) -> None:
    run_dir, page, flood = small_disk / "run", 4096, 1 << 20
    script = f"""
import os, sys, time
def say(letter, count, step):
    sys.stdout.buffer.write(letter * count)
    sys.stdout.flush()
    open({str(tmp_path)!r} + f"/said{{step}}", "w").close()
    while not os.path.exists({str(tmp_path)!r} + f"/go-on{{step}}"): time.sleep(0.02)
say(b"a", {page}, 1); say(b"b", {flood}, 2); say(b"c", {page}, 3)
"""
    handle = start(run_dir, spec_of(python(script)))
    wait_until(lambda: size(run_dir, "stdout") == page, "a page of output")
    ballast = fill(small_disk)
    (tmp_path / "go-on1").touch()
    wait_until((tmp_path / "said2").exists, "all but a pipe full is pumped")
    ballast.unlink()
    (tmp_path / "go-on2").touch()
    (tmp_path / "go-on3").touch()
    output = Output()
    record = follow_on(handle, output)
    assert record.stdout_bytes == page + flood + page == output.next["stdout"]
    assert flood - (64 << 10) <= record.lost_bytes == output.cut <= flood
    assert output.stdout.startswith(b"a" * page + (b"c" if record.lost_bytes == flood else b"b"))
    assert output.stdout.endswith(b"c" * page)


def test_a_stop_reaches_a_run_on_a_full_disk(small_disk: Path) -> None:
    run_dir = small_disk / "run"
    handle = start(run_dir, spec_of(sh("sleep 1000")))
    wait_until(lambda: marked(run_dir), "a running agent")
    fill(small_disk)
    stop(run_dir, reason="cannot be written down")
    record = follow_on(handle)
    assert record.cause == "stopped"
    assert (run_dir / "exit.json").exists()
    assert marked(run_dir) == []


def test_a_stop_that_reaches_nobody_on_a_full_disk_is_an_error(small_disk: Path) -> None:
    (small_disk / "run").mkdir()
    fill(small_disk)
    with pytest.raises(OSError, match="No space left on device"):
        stop(small_disk / "run", reason="nobody there")
