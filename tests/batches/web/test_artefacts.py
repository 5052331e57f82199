from pathlib import Path

import pytest

from batches import paths
from batches.jobs import execute_batch
from batches.models import Run
from batches.supervisor.layout import segment_name
from batches.web import artefacts
from tests.factories import make_batch, make_task, make_workspace
from tests.repos import write_files

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Of a batch that ran: it printed in colour and changed a text and a binary file."""
    workspace = make_workspace(tmp_path)
    task = make_task(
        workspace,
        "a",
        "raw 1b5b33316d7265641b5b306d0a",
        "stderr oops",
        "append README.md more",
        "sh head -c 64 /dev/zero > blob.bin",
    )
    batch = make_batch(workspace, [task])
    assert execute_batch(batch.id)
    return Run.objects.select_related("batch__workspace").get(batch=batch)


def test_output_and_changes_of_a_run(run: Run) -> None:
    shown = {output.stream: output.text for output in artefacts.outputs(run)}
    assert shown == {"stdout": "red\n", "stderr": "oops\n"}
    patch = artefacts.patch(run)
    assert ("added", "+more") in patch.lines
    assert ("same", "GIT binary patch") in patch.lines
    assert not any(line.startswith("literal") for _, line in patch.lines)
    assert (patch.cut, patch.problem) == (False, "")


def test_a_repository_that_is_gone_is_said_in_words(run: Run) -> None:
    path = Path(run.batch.workspace.repo_path)
    path.rename(path.with_name("moved"))
    patch = artefacts.patch(run)
    assert str(path) in patch.problem
    assert patch.lines == ()


def test_a_run_that_never_began_has_nothing_and_leaves_no_folder(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    batch = make_batch(workspace, [make_task(workspace)])
    run = Run.objects.select_related("batch__workspace").get(batch=batch)
    assert artefacts.outputs(run) == []
    assert artefacts.patch(run) == artefacts.Patch()
    assert not (paths.state_folder("runs") / run.id.hex).exists()


def test_of_long_output_only_the_end_is_read(run: Run) -> None:
    folder = paths.agent_dir(run.id) / "stdout"
    for segment in folder.iterdir():
        segment.unlink()
    size = artefacts.TAIL_BYTES * 3
    write_files(folder, {segment_name(0): b"x" * (size - 4) + b"end\n"})
    stdout = next(output for output in artefacts.outputs(run) if output.stream == "stdout")
    assert len(stdout.text) == artefacts.TAIL_BYTES
    assert stdout.text.endswith("end\n")
    assert stdout.skipped == size - artefacts.TAIL_BYTES


def test_a_long_patch_is_cut_and_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artefacts, "PATCH_BYTES", 40)
    patch = artefacts.patch(run)
    assert patch.cut
    assert sum(len(line) + 1 for _, line in patch.lines) <= 41
    store = paths.store_dir(run.batch.workspace_id)
    assert list(store.glob("scratch/page-patch*")) == []
