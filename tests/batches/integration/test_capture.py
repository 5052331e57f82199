import os
import shutil
import socket
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from batches.integration import capture as capturing
from batches.integration import trees
from batches.integration.commits import Author
from batches.integration.staging import NESTED, RESERVED, UNREADABLE
from tasks.workspaces.git import RepositoryGone, list_refs
from tests.batches.integration.conftest import FILES, Bench, MakeBench, bench_for
from tests.repos import Content, git, git_bytes, make_repository, write_files

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


def hide_in_index(tree: Path) -> None:
    git(tree, "update-index", "--assume-unchanged", "a.txt")
    git(tree, "update-index", "--skip-worktree", "src/b.py")


def exclude_all(tree: Path) -> None:
    (tree / ".git/info/exclude").write_text("*\n")
    with (tree / ".git/config").open("a") as file:
        file.write("[core]\n\texcludesFile = /dev/stdin\n\tignoreCase = true\n\tfileMode = false\n")


def move_work_tree(tree: Path) -> None:
    git(tree, "config", "core.worktree", "/tmp")
    git(tree, "config", "core.bare", "true")


def break_git_dir(tree: Path) -> None:
    (tree / ".git/HEAD").write_bytes(b"\0garbage")
    (tree / ".git/index").write_bytes(b"garbage")
    (tree / ".git/config").write_bytes(b"[garbage")
    (tree / ".git/objects/info/alternates").write_text("/nowhere\n")


def delete_git_dir(tree: Path) -> None:
    shutil.rmtree(tree / ".git")


def link_git_dir(tree: Path) -> None:
    shutil.rmtree(tree / ".git")
    (tree / ".git").symlink_to("/")


def make_git_dir_a_pipe(tree: Path) -> None:
    shutil.rmtree(tree / ".git")
    os.mkfifo(tree / ".git")


def fill_refs_with_pipes(tree: Path) -> None:
    os.mkfifo(tree / ".git/refs/heads/pipe")
    os.mkfifo(tree / ".git/packed-refs")
    (tree / ".git/refs/heads/loop").symlink_to(".")
    (tree / ".git/refs/heads/garbage").write_bytes(b"\xff" * 10_000)


def lose_our_index(tree: Path) -> None:
    trees.private_index(tree).unlink()


def break_our_index(tree: Path) -> None:
    trees.private_index(tree).write_bytes(b"DIRC\0\0\0\2garbage")


@pytest.mark.parametrize(
    "spoil",
    [
        hide_in_index,
        exclude_all,
        move_work_tree,
        break_git_dir,
        delete_git_dir,
        link_git_dir,
        make_git_dir_a_pipe,
        fill_refs_with_pipes,
        lose_our_index,
        break_our_index,
    ],
)
def test_whatever_happens_to_its_git_directory_no_work_is_lost(
    bench: Bench, spoil: Callable[[Path], None]
) -> None:
    tree = bench.tree("r1")
    spoil(tree)
    write_files(tree, {"a.txt": "new\n", "src/b.py": "new\n", "new": "new\n"})
    done = bench.capture(tree)
    assert paths(done) == {b"a.txt": "M", b"src/b.py": "M", b"new": "A"}
    assert done.uncaptured == ()


def test_ignored_files_are_left_out_as_the_base_says(make_bench: MakeBench) -> None:
    bench = make_bench({".gitignore": "*.log\nbuild/\n", "keep.log": "tracked though ignored"})
    files = {"x.log": "x", "build/out": "o", "keep.log": "changed", "y": "y"}
    tree = bench.tree("r1")
    write_files(tree, {**files, ".venv/.gitignore": "*\n", ".venv/lib/x": "x"})
    done = bench.capture(tree)
    assert paths(done) == {b"keep.log": "M", b"y": "A"}
    assert done.complete


@pytest.mark.parametrize("rule", ["*\n", "*.py\n"])
def test_work_hidden_by_an_ignore_rule_of_the_run_itself_is_reported(
    bench: Bench, rule: str
) -> None:
    done = bench.run("r1", {"src/.gitignore": rule, "src/new.py": "work"})
    assert b"src/new.py" in done.hidden
    assert not done.complete


def test_repositories_inside_the_tree_are_reported(bench: Bench) -> None:
    tree = bench.tree("r1")
    make_repository(tree / "with-commit", {"x": "x"})
    make_repository(tree / "deep/without")
    write_files(tree, {"deep/without/x": "x", "a.txt": "new\n"})
    done = bench.capture(tree)
    assert {(row.path, row.reason) for row in done.uncaptured} == {
        (b"with-commit/", NESTED),
        (b"deep/without/", NESTED),
    }
    assert paths(done) == {b"a.txt": "M", b"with-commit": "A"}
    assert {row.path: row.new_mode for row in done.changes}[b"with-commit"] == "160000"
    assert not done.complete


def test_work_inside_a_submodule_is_reported(bench: Bench) -> None:
    index = bench.repository
    git(index, "update-index", "--add", "--cacheinfo", f"160000,{bench.base},module")
    git(index, "commit", "-qm", "module")
    base = git(index, "rev-parse", "HEAD")
    tree = bench.tree("r1", base)
    assert bench.capture(tree, base).complete
    write_files(tree, {"module/x": "work"})
    done = bench.capture(tree, base)
    assert [(row.path, row.reason) for row in done.uncaptured] == [(b"module", NESTED)]


def test_names_that_git_reserves_are_reported(bench: Bench) -> None:
    done = bench.run("r1", {"src/.GIT/config": "x", "git~1": "x", "ok": "x"})
    assert {(row.path, row.reason) for row in done.uncaptured} == {
        (b"src/.GIT/config", RESERVED),
        (b"git~1", RESERVED),
    }
    assert paths(done) == {b"ok": "A"}


def test_a_tracked_file_that_became_something_special_is_reported(bench: Bench) -> None:
    tree = bench.tree("r1")
    (tree / "a.txt").unlink()
    os.mkfifo(tree / "a.txt")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(tree)  # the path of a socket may be only 108 bytes long
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
    write_files(tree, {"ok": "x"})
    done = bench.capture(tree)
    assert [row.path for row in done.uncaptured] == [b"a.txt"]
    assert paths(done) == {b"ok": "A"}


def as_nobody(act: Callable[[], None]) -> None:
    """In a process without the right of root to read everything."""
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            act()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_missing_permissions_hide_no_work() -> None:
    def act() -> None:
        bench = bench_for(make_repository(folder / "r", FILES), folder / "state")
        tree = bench.tree("r1")
        write_files(tree, {"secret": "s", "locked/deep/x": "x", "a.txt": "new\n"})
        for name in ("secret", "locked/deep", "locked", "src"):
            (tree / name).chmod(0)
        done = bench.capture(tree)
        assert paths(done) == {b"a.txt": "M", b"secret": "A", b"locked/deep/x": "A"}
        assert done.complete
        (tree / "locked").chmod(0)
        trees.remove(tree)
        assert not tree.exists()

    with tempfile.TemporaryDirectory(prefix="codeframe-test-") as name:
        folder = Path(name) / "work"
        folder.mkdir()
        Path(name).chmod(0o755)
        folder.chmod(0o777)
        as_nobody(act)


def test_a_second_capture_adds_to_the_first_and_loses_neither(bench: Bench) -> None:
    tree = bench.tree("r1")
    write_files(tree, {"a.txt": "first\n"})
    first = bench.capture(tree)
    assert bench.capture(tree).commit == first.commit
    write_files(tree, {"a.txt": "second\n"})
    second = bench.capture(tree)
    assert list_refs(bench.store, "refs/codeframe/") == {
        f"refs/codeframe/replaced/r1/{first.commit}": first.commit,
        "refs/codeframe/runs/r1": second.commit,
    }


def test_a_tree_that_is_gone_or_became_a_link_is_a_clear_error(bench: Bench) -> None:
    tree = bench.tree("r1")
    shutil.rmtree(tree)
    with pytest.raises(RepositoryGone, match=f"^{tree}: the tree is gone"):
        bench.capture(tree)
    tree.symlink_to("/etc")
    with pytest.raises(RepositoryGone):
        bench.capture(tree)


def test_no_temporary_file_is_left(bench: Bench) -> None:
    bench.run("r1", {"a.txt": "new\n"})
    capturing.snapshot(bench.store)
    assert list(bench.store.scratch.iterdir()) == []


def test_unreadable_is_told_when_nothing_helps(bench: Bench) -> None:
    tree = bench.tree("r1")
    here = os.open(tree, os.O_RDONLY)
    for _ in range(60):  # deeper than any path may be long, with work at the end
        os.mkdir("d" * 200, dir_fd=here)
        deeper = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(os.open("work", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    write_files(tree, {"a.txt": "new\n"})
    done = bench.capture(tree)
    assert paths(done) == {b"a.txt": "M"}
    assert len(done.uncaptured) == 1
    assert done.uncaptured[0].reason.startswith(UNREADABLE)
