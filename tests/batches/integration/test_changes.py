import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batches.integration.changes import diff_patch, list_changes
from batches.integration.vetting import names_git_dir
from tests.batches.integration.conftest import Bench, MakeBench, bench_for
from tests.repos import git, git_bytes, make_repository, write_files


def applied(repository: Path, folder: Path, base: str, patch: bytes) -> str:
    """The tree that git makes of base and patch where nothing but the base is known."""
    git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    other = folder / "other"
    git(folder, "init", "-q", str(other))
    git(other, "fetch", "-q", f"file://{repository}", base)
    git(other, "config", "core.protectNTFS", "false")
    git(other, "read-tree", base)
    if patch:
        git_bytes(other, "apply", "--cached", "--whitespace=nowarn", input=patch)
    return git(other, "write-tree")


def test_each_kind_of_change_is_listed_in_bytes(bench: Bench) -> None:
    tree = bench.tree("r1")
    write_files(tree, {"a.txt": "one\n2\nthree\nfour\n", "bin": b"\0\1", "x\ny\udce9": "n\n"})
    (tree / "run.sh").chmod(0o755)
    (tree / "src/b.py").unlink()
    (tree / "link").symlink_to("a.txt")
    rows = {change.path: change for change in bench.capture(tree).changes}
    assert {(path, row.status, row.added, row.deleted) for path, row in rows.items()} == {
        (b"a.txt", "M", 2, 1),
        (b"bin", "A", None, None),
        (b"link", "A", 1, 0),
        (b"run.sh", "M", 0, 0),
        (b"src/b.py", "D", 0, 1),
        (b"x\ny\xe9", "A", 1, 0),
    }
    assert (rows[b"run.sh"].old_mode, rows[b"run.sh"].new_mode) == ("100644", "100755")
    assert rows[b"link"].new_mode == "120000"
    assert rows[b"a.txt"].old_oid != rows[b"a.txt"].new_oid


def test_a_moved_file_is_a_deletion_and_an_addition(bench: Bench) -> None:
    tree = bench.tree("r1")
    (tree / "long.txt").rename(tree / "moved.txt")
    changes = bench.capture(tree).changes
    assert [(row.path, row.status) for row in changes] == [(b"long.txt", "D"), (b"moved.txt", "A")]


def test_nothing_changed_is_an_empty_list_and_an_empty_patch(bench: Bench) -> None:
    assert list_changes(bench.store, base=bench.base, commit=bench.base) == []
    assert diff_patch(bench.store, base=bench.base, commit=bench.base) == b""


def test_attributes_do_not_hide_lines_from_the_patch(make_bench: MakeBench) -> None:
    bench = make_bench({".gitattributes": "* -diff\n*.txt binary\n", "a.txt": "1\n"})
    done = bench.run("r1", {"a.txt": "2\n"})
    assert b"-1\n+2\n" in diff_patch(bench.store, base=bench.base, commit=done.commit)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"caf\xe9\nx\n", b"caf\xe9\ny\n"),
        (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\n"),
        (b"no newline", b"still none"),
        (b"a\n", b"a"),
        (b"\0\1\2" * 500, b"\0\1\3" * 500),
        (b"", b"\n"),
        (b"trailing \t\n", b"trailing\n"),
    ],
)
def test_a_patch_becomes_the_same_bytes_again(
    make_bench: MakeBench, tmp_path: Path, old: bytes, new: bytes
) -> None:
    bench = make_bench({"z": "z"})
    base = bench.run("seed", {"f": old, "z": "1"}).commit
    done = bench.run("r1", {"f": new}, base)
    patch = diff_patch(bench.store, base=base, commit=done.commit)
    assert applied(bench.repository, tmp_path, base, patch) == done.tree


def test_a_patch_can_go_to_a_file(bench: Bench, tmp_path: Path) -> None:
    done = bench.run("r1", {"a.txt": "2\n"})
    out = tmp_path / "out.patch"
    whole = diff_patch(bench.store, base=bench.base, commit=done.commit)
    assert diff_patch(bench.store, base=bench.base, commit=done.commit, output=out) == b""
    assert out.read_bytes() == whole != b""


NAMES = st.binary(min_size=1, max_size=12).filter(
    lambda name: (
        b"\0" not in name
        and b"/" not in name
        and name not in (b".", b"..")
        and not names_git_dir(name)
        and name != b".gitignore"
        and name != b".gitattributes"
    )
)
TREES = st.dictionaries(NAMES, st.binary(max_size=60), max_size=5)


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(before=TREES, after=TREES)
def test_any_names_and_bytes_survive_capture_patch_and_apply(
    before: dict[bytes, bytes], after: dict[bytes, bytes]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bench = bench_for(make_repository(folder / "r", {"z": "z"}), folder / "state")
        seed = bench.tree("seed")
        write_files(seed, {os.fsdecode(path): content for path, content in before.items()})
        base = bench.capture(seed).commit
        tree = bench.tree("r1", base)
        for path in before.keys() - after.keys():
            (tree / os.fsdecode(path)).unlink()
        write_files(tree, {os.fsdecode(path): content for path, content in after.items()})
        done = bench.capture(tree, base)
        assert done.uncaptured == ()
        patch = diff_patch(bench.store, base=base, commit=done.commit)
        assert applied(bench.repository, folder, base, patch) == done.tree
        for path, content in after.items():
            stored = git_bytes(
                bench.repository, "cat-file", "blob", done.tree.encode() + b":" + path
            )
            assert stored == content
