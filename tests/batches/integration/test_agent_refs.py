from pathlib import Path

from tasks.workspaces.git import list_refs
from tests.batches.integration.conftest import Bench
from tests.repos import commit, git, write_files

PREFIX = "refs/codeframe/agent/r1/"


def test_what_an_agent_committed_is_captured_and_its_history_kept(bench: Bench) -> None:
    tree = bench.tree("r1")
    commit(tree, {"a.txt": "1\n"}, "first step")
    head = commit(tree, {"b": "2\n"}, "second step")
    done = bench.capture(tree)
    assert {change.path for change in done.changes} == {b"a.txt", b"b"}
    assert git(bench.repository, "rev-parse", f"{done.commit}^") == bench.base
    assert done.agent_refs == {f"{PREFIX}heads/codeframe/run-r1": head}
    assert git(bench.repository, "log", "--format=%s", f"{bench.base}..{head}").split("\n") == [
        "second step",
        "first step",
    ]
    git(bench.repository, "fsck", "--strict")


def test_other_branches_a_detached_head_and_the_stash_are_kept(bench: Bench) -> None:
    tree = bench.tree("r1")
    write_files(tree, {"a.txt": "stashed\n"})
    git(tree, "stash", "-q")
    git(tree, "checkout", "-q", "-b", "idea")
    idea = commit(tree, {"idea": "i"})
    git(tree, "pack-refs", "--all")
    git(tree, "checkout", "-q", "--detach", bench.base)
    lost = commit(tree, {"lost": "l"})
    git(tree, "repack", "-adq")
    stash = git(tree, "rev-parse", "refs/stash")
    done = bench.capture(tree)
    assert done.agent_refs == {
        f"{PREFIX}HEAD": lost,
        f"{PREFIX}heads/idea": idea,
        f"{PREFIX}stash": stash,
    }
    assert list_refs(bench.store, PREFIX) == done.agent_refs
    assert git(bench.repository, "show", f"{PREFIX}stash:a.txt") == "stashed"
    git(bench.repository, "fsck", "--strict")


def test_work_that_an_agent_reset_away_to_an_older_commit_makes_no_noise(bench: Bench) -> None:
    older = bench.base
    base = commit(bench.repository, {"c": "c"})
    tree = bench.tree("r1", base)
    git(tree, "reset", "-q", "--hard", older)
    done = bench.capture(tree, base)
    assert done.agent_refs == {}
    assert [(change.path, change.status) for change in done.changes] == [(b"c", "D")]


def test_a_second_capture_moves_the_kept_refs(bench: Bench) -> None:
    tree = bench.tree("r1")
    commit(tree, {"b": "1\n"})
    bench.capture(tree)
    head = commit(tree, {"b": "2\n"})
    assert bench.capture(tree).agent_refs == {f"{PREFIX}heads/codeframe/run-r1": head}


def test_a_history_that_cannot_be_read_is_reported_and_the_files_are_kept(bench: Bench) -> None:
    tree = bench.tree("r1")
    first = commit(tree, {"b": "1\n"})
    commit(tree, {"b": "2\n"})
    loose = tree / ".git/objects" / first[:2] / first[2:]
    loose.unlink()
    done = bench.capture(tree)
    assert done.changed
    assert done.agent_refs == {}
    assert done.agent_refs_problem is not None
    assert "could not be kept" in done.agent_refs_problem
    assert not done.complete


def test_a_ref_with_an_odd_name_is_kept_under_its_hash(bench: Bench) -> None:
    tree = bench.tree("r1")
    head = commit(tree, {"b": "1\n"})
    for name in ("bad..name", "x.lock", "ä~^:"):
        (tree / ".git/refs/heads" / name).write_text(f"{head}\n")
    done = bench.capture(tree)
    assert done.agent_refs == {
        f"{PREFIX}heads/codeframe/run-r1": head,
        f"{PREFIX}{head}": head,
    }


def test_a_ref_that_names_nothing_does_not_stop_the_others(bench: Bench) -> None:
    tree = bench.tree("r1")
    head = commit(tree, {"b": "1\n"})
    (tree / ".git/refs/heads/nothing").write_text("1" * 40 + "\n")
    (tree / ".git/refs/heads/zero").write_text("0" * 40 + "\n")
    (tree / ".git/refs/heads/link").symlink_to(Path("/etc/passwd"))
    assert bench.capture(tree).agent_refs == {f"{PREFIX}heads/codeframe/run-r1": head}
