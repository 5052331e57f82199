"""Which configuration holds: trusted by content, read from the commit, the database above it."""

from pathlib import Path
from typing import Any

import pytest

from batches.configuration.changing import current, set_config, trust_file
from batches.models import Batch, Finding, GateRecord, TrustedConfig
from tasks.errors import Conflict, NotFound, ValidationFailed
from tasks.models import AuditEntry, Event, Workspace
from tests.batches.conducting import last_run, reasons, repository, run_batch
from tests.factories import make_batch, make_task, make_workspace
from tests.repos import commit, git, write_files

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]
FILE = ".codeframe/config.yaml"


def configured(tmp_path: Path, text: str, **extra: Any) -> Workspace:
    return make_workspace(tmp_path, files={FILE: text}, **extra)


def trusted(workspace: Workspace) -> Workspace:
    trust_file(workspace=workspace, digest=current(workspace).file.digest, by="ada")
    return workspace


def marking(path: Path) -> str:
    return f"gates: [{{name: own, argv: [touch, {path}]}}]\n"


def ignored(batch: Batch) -> list[dict[str, Any]]:
    rows = Event.objects.filter(batch_id=batch.id, type="BATCH_CONFIG_IGNORED")
    return list(rows.values_list("payload", flat=True))


def test_nothing_of_a_file_is_run_before_it_is_trusted(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    workspace = configured(tmp_path, marking(mark), gates_waived=False)
    make_task(workspace, "a")
    batch = run_batch(make_batch(workspace))
    assert not mark.exists()
    assert not GateRecord.objects.exists()
    (told,) = ignored(batch)
    assert told["why"] == "untrusted"
    trusted(workspace)
    make_task(workspace, "b")
    batch = run_batch(make_batch(workspace))
    assert batch.verification == "passed", batch.verification_reason
    assert mark.exists()
    assert ignored(batch) == []
    assert AuditEntry.objects.filter(action="workspace.trust", user="ada").exists()


def test_trust_is_of_one_content_and_ends_with_it(tmp_path: Path) -> None:
    workspace = trusted(configured(tmp_path, "engine: fixer\n"))
    assert current(workspace).values["engine"] == "fixer"
    commit(repository(workspace), {FILE: "engine: evil\n"})
    found = current(workspace)
    assert (found.file.state, found.values["engine"]) == ("untrusted", "")
    commit(repository(workspace), {FILE: "engine: fixer\n"})
    assert current(workspace).values["engine"] == "fixer"


def test_the_file_is_the_commits_and_never_the_working_trees(tmp_path: Path) -> None:
    workspace = trusted(configured(tmp_path, "engine: fixer\n"))
    write_files(repository(workspace), {FILE: "engine: evil\n"})
    found = current(workspace)
    assert (found.file.state, found.values["engine"]) == ("trusted", "fixer")
    (repository(workspace) / FILE).unlink()
    (repository(workspace) / FILE).symlink_to("/etc/passwd")
    git(repository(workspace), "add", "--all")
    git(repository(workspace), "commit", "-qm", "a link")
    assert current(workspace).file.state == "none"


def test_an_agent_that_changes_the_file_changes_nothing_for_its_batch(tmp_path: Path) -> None:
    """The gates' own configuration is the base's: a dependent run is held to it too."""
    workspace = trusted(
        configured(tmp_path, "gates: [{name: own, argv: ['false']}]\n", gates_waived=False)
    )
    first = make_task(workspace, "a", f'write {FILE} "gates: []"')
    batch = run_batch(make_batch(workspace))
    assert reasons(batch) == {"a": "gate_failed"}
    assert last_run(first).verification == "failed"


def test_a_broken_file_is_named_and_does_not_hold(tmp_path: Path) -> None:
    workspace = configured(tmp_path, "engin: x\n")
    make_task(workspace, "a")
    batch = run_batch(make_batch(workspace))
    (told,) = ignored(batch)
    assert told["why"] == "invalid"
    assert "engin is not a key" in told["problem"]
    with pytest.raises(ValidationFailed, match="engin"):
        trust_file(workspace=workspace, digest="0" * 64, by="ada")


def test_trust_is_refused_for_what_the_person_has_not_read(tmp_path: Path) -> None:
    workspace = configured(tmp_path, "engine: fixer\n")
    for digest in ("", "0123", "f" * 64, current(workspace).file.digest[:7]):
        with pytest.raises(Conflict):
            trust_file(workspace=workspace, digest=digest, by="ada")
    assert not TrustedConfig.objects.exists()
    with pytest.raises(NotFound):
        trust_file(workspace=make_workspace(tmp_path, name="bare"), digest="f" * 64, by="ada")


def test_the_database_holds_above_the_file_key_by_key(tmp_path: Path) -> None:
    text = (
        "engine: file\nenvironment: {copy: true, tools: none}\nprotected_paths: [a]\n"
        "gates: [{name: one, argv: [file]}, {name: two, argv: [file]}]\n"
    )
    workspace = trusted(configured(tmp_path, text))
    config = {
        "engine": "database",
        "environment": {"tools": ["uv"]},
        "protected_paths": ["b"],
        "gates": [{"name": "two", "argv": ["database"]}],
    }
    set_config(workspace=workspace, config=config, by="ada")
    found = current(workspace)
    assert found.values["engine"] == "database"
    assert found.values["environment.copy"] is True
    assert found.values["environment.tools"] == ["uv"]
    assert found.values["protected_paths"] == ["a", "b"]
    assert [(g["name"], g["argv"]) for g in found.values["gates"]] == [
        ("one", ["file"]),
        ("two", ["database"]),
    ]
    assert found.sources["engine"] == "database"
    assert found.sources["environment.copy"] == "file"
    event = Event.objects.get(workspace=workspace, type="CONFIG_CHANGED")
    assert event.payload["keys"] == ["engine", "environment.tools", "gates", "protected_paths"]


def test_limits_bound_what_a_batch_may_ask_for(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    make_task(workspace, "a")
    limits = {"max_parallel": 2, "timeout_s": 100, "stall_timeout_s": 50, "max_retries": 0}
    set_config(workspace=workspace, config={"limits": limits}, by="ada")
    batch = make_batch(workspace, max_parallel=8, timeout_s=0, stall_timeout_s=60, max_retries=3)
    assert (batch.max_parallel, batch.timeout_s) == (2, 100)
    assert (batch.stall_timeout_s, batch.max_retries) == (50, 0)


@pytest.mark.parametrize(
    ("pattern", "touched", "refused"),
    [
        ("migrations/**", "migrations/0001/a.py", True),
        ("migrations/", "migrations/a.py", True),
        ("*.lock", "deep/down/uv.lock", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("README.md", "docs/README.md", True),
        ("./docs/a.md", "docs/a.md", True),
        ("docs/a.md", "docs/axmd", False),
    ],
)
def test_protected_paths(tmp_path: Path, pattern: str, touched: str, refused: bool) -> None:
    from batches.integration.changes import Change
    from batches.integration.protecting import protecting

    (rule,) = protecting([pattern])
    change = Change.__new__(Change)
    object.__setattr__(change, "path", touched.encode())
    assert bool(rule.finds(change, None)) is refused  # type: ignore[arg-type]


def test_a_change_of_a_protected_path_is_refused_even_when_it_deletes(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path, files={"ci/run": "x", "a": "a"})
    set_config(workspace=workspace, config={"protected_paths": ["ci/"]}, by="ada")
    make_task(workspace, "a", "delete ci/run", "write b b")
    batch = run_batch(make_batch(workspace))
    assert reasons(batch) == {"a": "vetting_refused"}
    assert Finding.objects.get().rule == "protected_path"
