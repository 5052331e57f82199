"""A repository and a tree full of traps: whatever we do with them, none of them springs."""

import re
import shutil
from pathlib import Path

import pytest

from batches.integration import capture, trees
from batches.integration.changes import diff_patch
from batches.integration.landing import land
from batches.integration.merging import Prepared, prepare
from batches.integration.vetting import vet
from tasks.workspaces.git import list_refs, log, publish, resolve
from tests.batches.integration.conftest import FILES, Bench, bench_for, long_with
from tests.repos import git, make_repository, write_files

HOOKS = re.findall(
    r"\S+",
    "applypatch-msg commit-msg fsmonitor-watchman post-applypatch post-checkout post-commit"
    " post-index-change post-merge post-receive post-rewrite post-update pre-applypatch"
    " pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase pre-receive prepare-commit-msg"
    " proc-receive push-to-checkout reference-transaction sendemail-validate update",
)
ALIASED = ("read-tree", "update-ref", "diff-tree", "merge-tree", "commit-tree", "ls-files", "log")


class Traps:
    """Commands that leave a mark when anything runs them."""

    def __init__(self, folder: Path) -> None:
        self.marker = folder / "marker"
        self.command = folder / "trap.sh"
        folder.mkdir()
        self.command.write_text(f'#!/bin/sh\necho "$0 $*" >> "{self.marker}"\ncat\nexit 0\n')
        self.command.chmod(0o755)
        self.hooks = folder / "hooks"
        self.write_hooks(self.hooks)

    def write_hooks(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name in HOOKS:
            hook = folder / name
            hook.unlink(missing_ok=True)
            hook.symlink_to(self.command)

    def config(self) -> str:
        trap = self.command
        included = trap.with_name("included")
        included.write_text(f"[core]\n\tfsmonitor = {trap}\n\thooksPath = {self.hooks}\n")
        attributes = trap.with_name("attributes")
        attributes.write_text("* filter=evil diff=evil merge=evil\n")
        aliases = "".join(f"\t{name} = !{trap}\n" for name in ALIASED)
        pagers = "".join(f"\t{name} = {trap}\n" for name in ALIASED)
        return f"""
[core]
\tfsmonitor = {trap}
\thooksPath = {self.hooks}
\tattributesFile = {attributes}
\tpager = {trap}
\teditor = {trap}
\taskPass = {trap}
\tsshCommand = {trap}
\tgitProxy = {trap}
\talternateRefsCommand = {trap}
[filter "evil"]
\tclean = {trap}
\tsmudge = {trap}
\trequired = true
[diff]
\texternal = {trap}
[diff "evil"]
\tcommand = {trap}
\ttextconv = {trap}
[merge "evil"]
\tdriver = {trap} %A
[merge]
\tdefault = evil
[gpg]
\tprogram = {trap}
[commit]
\tgpgSign = true
[log]
\tshowSignature = true
[credential]
\thelper = !{trap}
[remote "origin"]
\turl = ext::{trap}
\tuploadpack = {trap}
[uploadpack]
\tpackObjectsHook = {trap}
[submodule "sub"]
\turl = ext::{trap}
\tupdate = !{trap}
\tactive = true
[alias]
{aliases}
[pager]
{pagers}
[include]
\tpath = {included}
"""

    def plant(self, git_dir: Path) -> None:
        with (git_dir / "config").open("a") as file:
            file.write(self.config())
        self.write_hooks(git_dir / "hooks")
        (git_dir / "info").mkdir(exist_ok=True)
        (git_dir / "info/attributes").write_text("*.marked filter=evil diff=evil merge=evil\n")

    def sprung(self) -> str:
        return self.marker.read_text() if self.marker.exists() else ""


@pytest.fixture
def traps(tmp_path: Path) -> Traps:
    return Traps(tmp_path / "traps")


def hostile_bench(tmp_path: Path, traps: Traps, attributes: str) -> Bench:
    repository = make_repository(
        tmp_path / "repository",
        {**FILES, "x.marked": "1\n", ".gitattributes": attributes, "sub/.keep": ""},
    )
    nested = make_repository(tmp_path / "nested", {"inner": "i\n"})
    inner = git(nested, "rev-parse", "HEAD")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{inner},module")
    (repository / ".gitmodules").write_text('[submodule "sub"]\n\tpath = module\n\tignore = none\n')
    git(repository, "add", ".gitmodules")
    git(repository, "commit", "-qm", "module")
    traps.plant(repository / ".git")
    return bench_for(repository, tmp_path / "state")


@pytest.mark.parametrize(
    ("attributes", "name", "outcome"),
    [
        ("* filter=evil diff=evil merge=evil\n", "new.txt", "filtered"),
        ("*.md diff=evil\n", "new.marked", "filtered"),
        ("*.txt diff=evil merge=evil\n", "new.txt", "landed"),
    ],
)
def test_nothing_of_a_hostile_repository_or_agent_runs(
    tmp_path: Path, traps: Traps, attributes: str, name: str, outcome: str
) -> None:
    bench = hostile_bench(tmp_path, traps, attributes)
    store, base = bench.store, bench.base
    assert resolve(store, "main") == base
    assert log(store, "main")[0].commit == base
    assert list_refs(store, "refs/heads/")

    before = capture.snapshot(store)
    one = use_a_tree(bench, traps, "one", {"long.txt": long_with(1, "1\n"), name: "2\n"})
    two = use_a_tree(bench, traps, "two", {"long.txt": long_with(20, "2\n")})
    assert diff_patch(store, base=base, commit=one)

    ref = "refs/heads/codeframe/batch-x"
    first = prepare(store, tip=base, base=base, capture=one, message="m")
    assert isinstance(first, Prepared)
    publish(store, ref=ref, new=first.commit, old=None)
    second = prepare(store, tip=first.commit, base=base, capture=two, message="m")
    assert isinstance(second, Prepared)
    publish(store, ref=ref, new=second.commit, old=first.commit)
    publish(store, ref="refs/heads/side", new=base, old=None)
    assert land(store, branch="side", commit=second.commit, message="m").landed
    assert land(store, branch="main", commit=second.commit, message="m").outcome == outcome
    write_files(bench.repository, {"a.txt": "mine\n"})
    after = capture.snapshot(store)
    done = capture.capture_difference(store, before=before, after=after, run_id="n", message="m")
    assert b"a.txt" in {change.path for change in done.changes}
    assert traps.sprung() == ""


def use_a_tree(bench: Bench, traps: Traps, name: str, files: dict[str, str]) -> str:
    """A run of an agent that plants traps in its own clone and in a submodule's place."""
    tree = bench.tree(name)
    write_files(tree, files)
    git(tree, "stash", "-q")
    git(tree, "stash", "apply", "-q")
    traps.plant(tree / ".git")
    # The very commit that is recorded, so that git would ask for changes in its files.
    shutil.copytree(bench.folder.parent / "nested", tree / "module", dirs_exist_ok=True)
    write_files(tree, {"module/inner": "changed\n"})
    traps.plant(tree / "module/.git")
    done = bench.capture(tree)
    vet(bench.store, commit=done.commit, changes=done.changes)
    assert list(done.agent_refs) == [f"refs/codeframe/agent/{name}/stash"]
    assert [row.path for row in done.uncaptured] == [b"module"]
    trees.remove(tree)
    return done.commit


def test_the_traps_do_spring_for_an_ordinary_git(tmp_path: Path, traps: Traps) -> None:
    bench = hostile_bench(tmp_path, traps, "* filter=evil diff=evil merge=evil\n")
    write_files(bench.repository, {"a.txt": "changed\n"})
    for command in (["status"], ["add", "a.txt"], ["diff", "HEAD"], ["branch", "x"]):
        traps.marker.unlink(missing_ok=True)
        git(bench.repository, "-c", "safe.directory=*", *command)
        assert traps.sprung(), command
