import os
from collections.abc import Sequence

import pytest

from batches.integration.changes import ABSENT, Change, list_changes
from batches.integration.commits import commit_tree
from batches.integration.vetting import (
    REFUSE,
    RULES,
    WARN,
    Context,
    Finding,
    Rule,
    leaves,
    names_git_dir,
    vet,
)
from tasks.workspaces.gitcall import call
from tests.batches.integration.conftest import Bench
from tests.repos import git_bytes, make_repository


def found(findings: Sequence[Finding]) -> set[tuple[str, str, bytes]]:
    return {(row.rule, row.severity, row.path) for row in findings}


def introduce(bench: Bench, entries: dict[bytes, tuple[str, bytes]]) -> list[Finding]:
    """A commit with entries that git would not take from a folder, made object by object."""
    rows = []
    for path, (mode, content) in entries.items():
        oid = bench.base.encode()
        if mode != "160000":
            oid = git_bytes(bench.repository, "hash-object", "-w", "--stdin", input=content).strip()
        kind = b"commit" if mode == "160000" else b"blob"
        rows.append(mode.encode() + b" " + kind + b" " + oid + b"\t" + path + b"\0")
    made = call(bench.store.raw, "mktree", "-z", input=b"".join(rows))
    commit = commit_tree(
        bench.store, tree=made.stdout.decode().strip(), parents=[bench.base], message="m"
    )
    changes = list_changes(bench.store, base=bench.base, commit=commit)
    return vet(bench.store, commit=commit, changes=changes)


def vet_run(bench: Bench, links: dict[str, str], base: str | None = None) -> list[Finding]:
    tree = bench.tree(f"r{len(list(bench.folder.rglob('r*.index')))}", base)
    for name, target in links.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).symlink_to(target)
    done = bench.capture(tree, base)
    return vet(bench.store, commit=done.commit, changes=done.changes)


def test_an_honest_change_has_no_findings(bench: Bench) -> None:
    done = bench.run("r1", {"a.txt": "1", "git.txt": "2", ".github/x": "3", ".gitignore": "x"})
    assert vet(bench.store, commit=done.commit, changes=done.changes) == []


@pytest.mark.parametrize(
    "name",
    [
        b".git",
        b".GIT",
        b".Git",
        b"git~1",
        b"GIT~1",
        b".git ",
        b".git...",
        b".git::$INDEX_ALLOCATION",
        ".g\u200cit".encode(),
        "\ufeff.git".encode(),
        b"x\\.git\\config",
    ],
)
def test_every_spelling_of_gits_own_directory_is_refused(bench: Bench, name: bytes) -> None:
    assert names_git_dir(name)
    assert ("git_directory", REFUSE, name) in found(introduce(bench, {name: ("100644", b"x")}))


@pytest.mark.parametrize("name", [b".gitignore", b".github", b"git", b".git-blame", b"git~10"])
def test_names_that_only_look_similar_are_fine(name: bytes) -> None:
    assert not names_git_dir(name)


@pytest.mark.parametrize("path", [b"/etc/passwd", b"a/../../b", b"..", b"C:\\x", b"a//b", b"..\\b"])
def test_paths_that_leave_the_tree_are_refused(bench: Bench, path: bytes) -> None:
    change = Change(
        path=path, status="A", old_mode=ABSENT, new_mode="100644", old_oid="0", new_oid="1"
    )
    findings = vet(bench.store, commit=bench.base, changes=[change])
    assert ("path_outside", REFUSE, path) in found(findings)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("link", "/etc/passwd"),
        ("link", ".."),
        ("link", "src/../../x"),
        ("deep/er/link", "../../../x"),
        ("link", ".git/config"),
        ("deep/link", "../.GIT/hooks"),
        ("link", "C:\\windows"),
        ("link", "\\\\server\\share"),
    ],
)
def test_links_that_lead_out_are_refused(bench: Bench, name: str, target: str) -> None:
    assert ("link_outside", REFUSE, name.encode()) in found(vet_run(bench, {name: target}))


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("link", "a.txt"),
        ("link", "src"),
        ("deep/er/link", "../../a.txt"),
        ("link", "does/not/exist"),
        ("link", "link"),
        ("deep/link", "./../src/./b.py"),
        ("link", "..."),
    ],
)
def test_links_that_stay_inside_are_fine(bench: Bench, name: str, target: str) -> None:
    assert vet_run(bench, {name: target}) == []


def test_a_link_that_leads_out_through_another_link_is_refused(bench: Bench) -> None:
    findings = vet_run(bench, {"deep/up": "..", "deep/link": "up/../x"})
    assert ("link_outside", REFUSE, b"deep/link") in found(findings)
    assert ("link_outside", REFUSE, b"deep/up") not in found(findings)


def test_a_link_that_makes_an_old_link_lead_out_is_refused(bench: Bench) -> None:
    tree = bench.tree("seed")
    (tree / "sub/dir/in").mkdir(parents=True)
    (tree / "sub/dir/in/file").touch()
    (tree / "sub/old").symlink_to("dir/in/../../../x")
    seed = bench.capture(tree)
    assert vet(bench.store, commit=seed.commit, changes=seed.changes) == []
    tree = bench.tree("r1", seed.commit)
    (tree / "sub/dir/in/file").unlink()
    (tree / "sub/dir/in").rmdir()
    (tree / "sub/dir/in").symlink_to("..")
    done = bench.capture(tree, seed.commit)
    findings = vet(bench.store, commit=done.commit, changes=done.changes)
    assert found(findings) == {("link_diverted", REFUSE, b"sub/dir/in")}


def test_loops_of_links_end() -> None:
    links = {b"a": b"b/x", b"b": b"a/y", b"c": b"c/../.."}
    assert leaves(b"a", links) is None
    assert leaves(b"c", links) is None


def test_repositories_inside_and_submodules_are_refused(bench: Bench) -> None:
    tree = bench.tree("r1")
    make_repository(tree / "nested", {"x": "x"})
    (tree / ".gitmodules").write_text("[submodule]\n")
    done = bench.capture(tree)
    findings = found(vet(bench.store, commit=done.commit, changes=done.changes))
    assert findings == {
        ("submodule", REFUSE, b"nested"),
        ("gitmodules", WARN, b".gitmodules"),
    }


def test_only_what_the_change_brings_is_judged(bench: Bench) -> None:
    tree = bench.tree("seed")
    (tree / "bad-link").symlink_to("/etc/passwd")
    (tree / ".gitmodules").write_text("[submodule]\n")
    base = bench.capture(tree).commit
    done = bench.run("r1", {"a.txt": "new\n"}, base)
    assert vet(bench.store, commit=done.commit, changes=done.changes) == []
    tree = bench.tree("r2", base)
    (tree / "bad-link").unlink()
    (tree / ".gitmodules").unlink()
    done = bench.capture(tree, base)
    findings = vet(bench.store, commit=done.commit, changes=done.changes)
    assert found(findings) == {("gitmodules", WARN, b".gitmodules")}


def test_a_list_of_submodules_that_is_a_link_is_refused(bench: Bench) -> None:
    findings = found(introduce(bench, {b".gitmodules": ("120000", b"a.txt")}))
    assert ("gitmodules_link", REFUSE, b".gitmodules") in findings


def test_a_policy_adds_rows_of_its_own(bench: Bench) -> None:
    def is_large(change: Change, context: Context) -> str | None:
        return "Too many lines." if (change.added or 0) > 100 else None

    rule = Rule(name="large", severity=WARN, finds=is_large)
    done = bench.run("r1", {"big": "x\n" * 101})
    changes = done.changes
    findings = vet(bench.store, commit=done.commit, changes=changes, rules=[*RULES, rule])
    assert findings == [
        Finding(rule="large", severity=WARN, path=b"big", message="Too many lines.")
    ]
    assert os.fsencode("big") == findings[0].path
