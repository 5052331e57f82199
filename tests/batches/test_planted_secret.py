"""A key that is given to an agent, which prints it, writes it and fails with it: it is nowhere."""

import json
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from batches import paths, shown
from batches.models import Batch, Finding, RecipeCommand, Run
from batches.web.output import window
from costs import redaction, secrets
from tasks.models import Workspace
from tests.batches.conducting import reasons, run_batch
from tests.factories import make_batch, make_task, make_workspace, options

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]

NAME = "PLANTED_API_KEY"
VALUE = "sk-planted-0123456789abcdef"


@pytest.fixture
def workspace(tmp_path: Path, settings: Settings) -> Workspace:
    secrets.set_secret(NAME, VALUE)
    return make_workspace(tmp_path)


def run_with_key(workspace: Workspace, *directives: str) -> Batch:
    make_task(workspace, "leak", *directives)
    chosen = options().engine_options | {"pass_env": [NAME]}
    return run_batch(make_batch(workspace, engine_options=chosen))


def everywhere() -> str:
    """Every column of every row of every table of ours."""
    found = []
    for app in ("codeframe_site", "batches", "tasks", "costs"):
        for model in apps.get_app_config(app).get_models():
            found += [json.dumps(row, default=repr) for row in model.objects.values()]
    return "\n".join(found)


def test_an_agent_that_names_a_key_gets_it_and_no_other_does(workspace: Workspace) -> None:
    secrets.set_secret("OTHER_API_KEY", VALUE + "-other")
    batch = run_with_key(workspace, 'sh "env > $HOME/env"', "write a.txt x")
    assert batch.status == "COMPLETED"
    run = Run.objects.get()
    environment = (paths.run_dir(run.id) / "home" / "env").read_text()
    assert f"{NAME}={VALUE}" in environment
    assert "OTHER_API_KEY" not in environment
    kept = [path for path in paths.agent_dir(run.id).rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if VALUE.encode() in path.read_bytes()]


def test_output_errors_and_events_hold_a_mask(workspace: Workspace) -> None:
    batch = run_with_key(
        workspace,
        f'print "key ${NAME} end"',
        f'stderr "refused: ${NAME}"',
        # In two writes, with time between them for both to be read apart.
        f'sh "printf %s $(echo ${NAME} | cut -c1-12); sleep 1; echo $(echo ${NAME} | cut -c13-)"',
        "exit 3",
    )
    assert batch.status == "FAILED"
    run = Run.objects.get()
    raw = (paths.agent_dir(run.id) / "stdout").glob("*")
    assert VALUE in "".join(file.read_text() for file in raw)
    assert VALUE not in everywhere()
    assert "*" * len(VALUE) in run.message
    for stream in ("stdout", "stderr"):
        data = b"".join(chunk.data for chunk in window.read(paths.agent_dir(run.id), stream, 0, 99))
        assert b"*" * len(VALUE) in data
        assert VALUE.encode() not in data
    for start in range(0, 60, 7):
        assert VALUE.encode() not in shown.read_output(run, "stdout", start, 40).data
    pieces = [shown.read_output(run, "stdout", at, 5) for at in range(0, 80, 5)]
    assert VALUE.encode() not in b"".join(piece.data for piece in pieces)


def test_a_change_with_a_key_in_it_is_refused_and_shown_masked(
    workspace: Workspace, client: Client
) -> None:
    batch = run_with_key(workspace, f"write config.txt key=${NAME}")
    assert reasons(batch) == {"leak": "vetting_refused"}
    assert Finding.objects.get().rule == "secret"
    run = Run.objects.get()
    client.force_login(User.objects.create_superuser("ada", password="x"))
    response = client.get(reverse("run-patch", args=[run.id]))
    assert response.status_code == 200
    text = response.content.decode()
    assert "config.txt" in text
    assert "+key=" + "*" * len(VALUE) in text
    assert VALUE not in text
    assert VALUE not in everywhere()


def test_a_set_up_command_with_a_key_in_it_is_not_kept(workspace: Workspace) -> None:
    offers = f"pip install tiny\\npip install ${NAME}\\n"
    run_with_key(workspace, f'sh "printf \\"{offers}\\" > $CODEFRAME_SETUP_FILE"', "write a x")
    assert [row.text for row in RecipeCommand.objects.all()] == ["pip install tiny"]
    assert VALUE not in everywhere()


def test_a_line_that_takes_a_key_away_is_no_leak(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "p.patch"
    redaction.learn({NAME: VALUE})
    file.write_text(f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{VALUE}\n+none\n")
    assert not shown.adds_secret(file)
    file.write_text("+" + "x" * (shown.PIECE - 9) + VALUE + "\n")
    assert shown.adds_secret(file)
    shown.mask_file(file)
    assert VALUE not in file.read_text()
    assert len(file.read_text()) == shown.PIECE - 9 + len(VALUE) + 2
