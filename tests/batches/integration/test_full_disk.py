import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from batches.integration.landing import land
from tasks.workspaces.git import DiskFull
from tests.batches.integration.conftest import Bench, bench_for
from tests.repos import git, make_repository, write_files


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with 2 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return filler


def test_a_tree_on_a_full_disk_is_a_clear_error_and_leaves_nothing(
    small_disk: Path, tmp_path: Path
) -> None:
    repository = make_repository(tmp_path / "r", {"big": os.urandom(3 << 20)})
    bench = bench_for(repository, small_disk / "state")
    with pytest.raises(DiskFull, match="the disk is full"):
        bench.tree("r1")
    assert list((small_disk / "state/trees").iterdir()) == []


def test_a_capture_on_a_full_disk_fails_clearly_and_succeeds_once_there_is_room(
    small_disk: Path, tmp_path: Path
) -> None:
    bench = bench_for(make_repository(small_disk / "r", {"a": "a"}), tmp_path / "state")
    tree = bench.tree("r1")
    write_files(tree, {"new": os.urandom(100_000)})
    filler = fill(small_disk)
    with pytest.raises(DiskFull, match="the disk is full"):
        bench.capture(tree)
    filler.unlink()
    assert bench.capture(tree).complete
    git(bench.repository, "fsck", "--strict")


def test_a_landing_on_a_full_disk_loses_nothing_and_can_be_repeated(
    small_disk: Path, tmp_path: Path
) -> None:
    bench: Bench = bench_for(make_repository(small_disk / "r", {"a": "a"}), tmp_path / "state")
    commit = bench.run("r", {"b": "b" * 400_000, "a": "new"}).commit
    filler = fill(small_disk)
    with pytest.raises(DiskFull, match="the disk is full"):
        land(bench.store, branch="main", commit=commit, message="m")
    assert git(bench.repository, "rev-parse", "main") == bench.base
    filler.unlink()
    (bench.repository / "b").unlink(missing_ok=True)  # cut short: not ours to overwrite
    result = land(bench.store, branch="main", commit=commit, message="m")
    assert result.outcome == "landed"
    assert git(bench.repository, "status", "--porcelain") == ""
