import os
import shutil
import time

import pytest

from batches.integration import capture as capturing
from batches.integration.commits import Author
from tasks.workspaces.git import list_refs
from tests.batches.integration.conftest import Bench, MakeBench
from tests.repos import Content, git, git_bytes, write_files

ODD_NAMES = [
    "a b",
    "ä",
    "x\ny",
    "a -> b",
    "-rf",
    'quo"te',
    "back\\slash",
    "tab\tbed",
    "\udce9.latin1",
    ":(top)magic",
    "*",
    "#hash",
    "trailing ",
]


def blob(bench: Bench, commit: str, name: str) -> bytes:
    return git_bytes(bench.repository, "cat-file", "blob", os.fsencode(f"{commit}:{name}"))


def paths(done: capturing.Capture) -> dict[bytes, str]:
    return {change.path: change.status for change in done.changes}


def test_what_an_agent_left_uncommitted_is_one_commit_on_the_base(bench: Bench) -> None:
    tree = bench.tree("r1")
    write_files(tree, {"a.txt": "new\n", "deep/er/file": "x"})
    (tree / "src/b.py").unlink()
    (tree / "run.sh").chmod(0o755)
    done = capturing.capture(
        bench.store,
        tree_dir=tree,
        base=bench.base,
        run_id="r1",
        message="Do it\n\nBecause.",
        author=Author(name="Ada <x>\nEvil: yes", email="ada@example.org"),
        trailers={"Codeframe-Run": "r1\nForged: yes"},
    )
    assert paths(done) == {b"a.txt": "M", b"deep/er/file": "A", b"src/b.py": "D", b"run.sh": "M"}
    assert done.complete
    assert done.ref == "refs/codeframe/runs/r1"
    assert git(bench.repository, "rev-parse", f"{done.ref}^") == bench.base
    shown = git(bench.repository, "log", "-1", "--format=%an|%ae|%cn|%B", done.commit)
    assert shown == (
        "Ada xEvil: yes|ada@example.org|codeframe|Do it\n\nBecause.\n\n"
        "Codeframe-Run: r1 Forged: yes"
    )


def test_the_users_checkout_is_untouched_byte_for_byte(bench: Bench) -> None:
    def state() -> dict[str, bytes]:
        kept = [bench.repository / ".git" / name for name in ("HEAD", "index", "config")]
        files = [path for path in bench.repository.rglob("*") if ".git" not in path.parts]
        return {str(path): path.read_bytes() for path in [*kept, *files] if path.is_file()}

    before = state()
    bench.run("r1", {"a.txt": "new\n"})
    assert state() == before
    assert git(bench.repository, "branch", "--list") == "* main"


def test_nothing_changed_makes_no_commit_and_no_ref(bench: Bench) -> None:
    tree = bench.tree("r1")
    (tree / "a.txt").touch()
    (tree / "empty-folder").mkdir()
    done = bench.capture(tree)
    assert (done.changed, done.commit, done.ref) == (False, bench.base, None)
    assert list_refs(bench.store, "refs/codeframe/") == {}


def test_any_name_and_any_content_is_captured_exactly(bench: Bench) -> None:
    contents: list[Content] = [b"\xe9\xff\0", b"no newline", b"a\r\nb\r\n", b"\r", b"", b"a\nb\r\n"]
    files = {name: contents[i % len(contents)] for i, name in enumerate(ODD_NAMES)}
    done = bench.run("r1", files)
    assert done.complete
    assert paths(done) == {os.fsencode(name): "A" for name in ODD_NAMES}
    for name, content in files.items():
        assert blob(bench, done.commit, name) == content
    git(bench.repository, "fsck", "--strict")


def test_a_line_changed_in_a_crlf_file_is_a_change_of_one_line(make_bench: MakeBench) -> None:
    lines = [b"line %d\r\n" % number for number in range(20)]
    attributes = "*.auto text=auto\n*.text text\n*.crlf text eol=crlf\n"
    names = ["x", "x.auto", "x.text", "x.crlf"]
    bench = make_bench({"z": "z"})
    tree = bench.tree("seed")
    write_files(tree, {name: b"".join(lines) for name in names} | {".gitattributes": attributes})
    base = bench.capture(tree).commit
    lines[7] = b"changed\r\n"
    tree = bench.tree("r1", base)
    write_files(tree, {name: b"".join(lines) for name in names})
    done = bench.capture(tree, base)
    assert {(row.path, row.added, row.deleted) for row in done.changes} == {
        (name.encode(), 1, 1) for name in names
    }
    assert {blob(bench, done.commit, name) for name in names} == {b"".join(lines)}


def test_links_and_executables_keep_their_kind(bench: Bench) -> None:
    tree = bench.tree("r1")
    (tree / "link").symlink_to("a.txt")
    (tree / "folder-link").symlink_to("src")
    (tree / "dangling").symlink_to("\udce9")
    (tree / "tool").write_text("#!/bin/sh\n")
    (tree / "tool").chmod(0o711)
    modes = {row.path: row.new_mode for row in bench.capture(tree).changes}
    assert modes == {
        b"link": "120000",
        b"folder-link": "120000",
        b"dangling": "120000",
        b"tool": "100755",
    }


@pytest.mark.parametrize("replacement", ["file", "folder", "link"])
def test_files_folders_and_links_may_take_each_others_places(
    make_bench: MakeBench, replacement: str
) -> None:
    bench = make_bench({"d/x": "x", "d/y": "y", "e/x": "x", "f": "f"})
    tree = bench.tree("r1")
    shutil.rmtree(tree / "d")
    if replacement == "file":
        (tree / "d").write_text("now a file")
    elif replacement == "link":
        (tree / "d").symlink_to("e")  # d/x still exists, but through the link
    else:
        write_files(tree, {"d/x/deeper": "x"})
        (tree / "f").unlink()
        write_files(tree, {"f/was/file": "x"})
    done = bench.capture(tree)
    expected = {
        "file": {b"d": "A", b"d/x": "D", b"d/y": "D"},
        "link": {b"d": "A", b"d/x": "D", b"d/y": "D"},
        "folder": {
            b"d/x": "D",
            b"d/x/deeper": "A",
            b"d/y": "D",
            b"f": "D",
            b"f/was/file": "A",
        },
    }
    assert paths(done) == expected[replacement]
    assert done.complete


def test_a_change_that_hides_behind_the_old_time_stamp_is_seen(bench: Bench) -> None:
    tree = bench.tree("r1")
    time.sleep(0.05)
    stat = (tree / "a.txt").stat()
    (tree / "a.txt").write_bytes(b"ONE\nTWO\nTHREE\n")
    os.utime(tree / "a.txt", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert paths(bench.capture(tree)) == {b"a.txt": "M"}
