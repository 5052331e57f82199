from pathlib import Path

import pytest

from batches.integration.commits import provenance
from batches.integration.merging import Conflict, Prepared, prepare
from tasks.workspaces.git import RefMoved, is_ancestor, list_refs, publish
from tests.batches.integration.conftest import Bench, MakeBench, long_with
from tests.repos import git

REF = "refs/heads/codeframe/batch-1"


def integrate(bench: Bench, tip: str, capture: str, base: str | None = None) -> Prepared | Conflict:
    return prepare(
        bench.store,
        tip=tip,
        base=base or bench.base,
        capture=capture,
        message="Do it",
        trailers=provenance(batch="b", run="r", task="t", capture=capture),
    )


def prepared(bench: Bench, tip: str, capture: str, base: str | None = None) -> str:
    result = integrate(bench, tip, capture, base)
    assert isinstance(result, Prepared)
    return result.commit


def state_of(bench: Bench) -> list[object]:
    repository = bench.repository
    return [
        git(repository, "status", "--porcelain", "--ignored"),
        git(repository, "for-each-ref"),
        (repository / ".git/index").read_bytes(),
        (repository / ".git/HEAD").read_bytes(),
    ]


def test_the_first_capture_goes_on_top_of_the_base(bench: Bench) -> None:
    done = bench.run("r1", {"a.txt": "new\n"})
    commit = prepared(bench, bench.base, done.commit)
    publish(bench.store, ref=REF, new=commit, old=None)
    assert git(bench.repository, "rev-parse", f"{REF}^", f"{REF}^{{tree}}").split() == [
        bench.base,
        done.tree,
    ]
    assert git(bench.repository, "log", "-1", "--format=%(trailers)", REF).split("\n") == [
        "Codeframe-Batch: b",
        "Codeframe-Run: r",
        "Codeframe-Task: t",
        f"Codeframe-Capture: {done.commit}",
    ]


def test_captures_of_the_same_base_are_merged_in_a_straight_line(bench: Bench) -> None:
    tip = bench.base
    for number in range(3):
        done = bench.run(f"r{number}", {"long.txt": long_with(number * 10, f"by {number}\n")})
        tip = prepared(bench, tip, done.commit)
    text = git(bench.repository, "show", f"{tip}:long.txt")
    assert all(f"by {number}" in text for number in range(3))
    assert git(bench.repository, "rev-list", "--count", "--merges", tip) == "0"
    assert git(bench.repository, "rev-list", "--count", f"{bench.base}..{tip}") == "3"
    git(bench.repository, "fsck", "--strict")


def test_two_tasks_on_one_line_conflict_and_leave_everything_clean(bench: Bench) -> None:
    first = bench.run("r1", {"a.txt": "one\nmine\nthree\n", "odd\n\udce9": "1"})
    second = bench.run("r2", {"a.txt": "one\nyours\nthree\n", "odd\n\udce9": "2", "fine": "x"})
    tip = prepared(bench, bench.base, first.commit)
    before = state_of(bench)
    result = integrate(bench, tip, second.commit)
    assert isinstance(result, Conflict)
    assert result.files == (b"a.txt", b"odd\n\xe9")
    assert any("a.txt" in message for message in result.messages)
    assert state_of(bench) == before


def test_changed_here_and_deleted_there_is_a_conflict(bench: Bench) -> None:
    first = bench.run("r1", {"a.txt": "new\n"})
    tree = bench.tree("r2")
    (tree / "a.txt").unlink()
    second = bench.capture(tree)
    result = integrate(bench, prepared(bench, bench.base, first.commit), second.commit)
    assert isinstance(result, Conflict)
    assert result.files == (b"a.txt",)


@pytest.mark.parametrize("again", [True, False])
def test_a_capture_that_adds_nothing_needs_no_commit(bench: Bench, again: bool) -> None:
    done = bench.run("r1", {"a.txt": "new\n"})
    tip = prepared(bench, bench.base, done.commit) if again else bench.base
    result = integrate(bench, tip, done.commit if again else bench.base)
    assert result == Prepared(commit=tip, tip=tip)
    assert result.is_empty


def test_a_merge_driver_that_the_repository_names_is_not_needed(make_bench: MakeBench) -> None:
    bench = make_bench({".gitattributes": "* merge=own\n", "long.txt": long_with(0, "0\n")})
    first = bench.run("r1", {"long.txt": long_with(0, "0\n").replace("line 5\n", "5\n")})
    second = bench.run("r2", {"long.txt": long_with(0, "0\n").replace("line 25\n", "25\n")})
    tip = prepared(bench, bench.base, first.commit)
    text = git(bench.repository, "show", f"{prepared(bench, tip, second.commit)}:long.txt")
    assert "\n5\n" in text
    assert "\n25\n" in text


def test_after_a_crash_between_the_phases_one_can_tell_and_go_on(bench: Bench) -> None:
    done = bench.run("r1", {"a.txt": "new\n"})
    publish(bench.store, ref=REF, new=bench.base, old=None)
    commit = prepared(bench, bench.base, done.commit)
    assert not is_ancestor(
        bench.store, ancestor=commit, descendant=list_refs(bench.store, REF)[REF]
    )
    publish(bench.store, ref=REF, new=commit, old=bench.base)
    assert is_ancestor(bench.store, ancestor=commit, descendant=list_refs(bench.store, REF)[REF])
    with pytest.raises(RefMoved):
        publish(bench.store, ref=REF, new=commit, old=bench.base)


def test_a_shallow_clone_integrates_too(tmp_path: Path, bench: Bench) -> None:
    from tests.batches.integration.conftest import bench_for

    git(tmp_path, "clone", "-q", "--depth=1", f"file://{bench.repository}", "shallow")
    shallow = bench_for(tmp_path / "shallow", tmp_path / "shallow-state")
    first = shallow.run("r1", {"long.txt": long_with(1, "1\n")})
    second = shallow.run("r2", {"long.txt": long_with(20, "2\n")})
    tip = prepared(shallow, shallow.base, first.commit)
    assert prepared(shallow, tip, second.commit) != tip
