"""Output of a run over HTTP: windows, downloads, what came since."""

import time
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from batches import paths
from batches.jobs import execute_batch
from batches.models import Run
from batches.supervisor.layout import segment_name
from tests.codeframe_site.browsing import html
from tests.factories import make_batch, make_task, make_workspace
from tests.repos import write_files

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def page(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada", password="x"))
    return client


@pytest.fixture
def run(tmp_path: Path) -> Run:
    workspace = make_workspace(tmp_path)
    task = make_task(
        workspace,
        "a",
        f'print "one {HOSTILE}"',
        "stderr oops",
        f'write "{HOSTILE[:8]}.txt" "{HOSTILE} twice"',
        "sh head -c 64 /dev/zero > blob.bin",
    )
    batch = make_batch(workspace, [task])
    assert execute_batch(batch.id)
    return Run.objects.select_related("batch__workspace").get(batch=batch)


def test_a_log_of_a_hundred_thousand_lines_is_a_fast_page(page: Client, run: Run) -> None:
    folder = paths.agent_dir(run.id) / "stdout"
    for segment in folder.iterdir():
        segment.unlink()
    line = b"x" * 59 + b"\n"
    write_files(folder, {segment_name(n * 3_000_000): line * 50_000 for n in range(2)})
    url = f"/runs/{run.id}/"
    page.get(url)
    for query in ({}, {"line": "54321"}, {"before": "3000000"}, {"q": "xx"}, {"q": "nowhere"}):
        began = time.process_time()
        text = html(page.get(url, query))
        assert time.process_time() - began < 1.5, query
        assert text.count('<div class="l"') <= 1000
    assert "99000 lines above" in html(page.get(url))


def test_the_newest_part_since_an_offset_is_a_fragment(page: Client, run: Run) -> None:
    url = f"/runs/{run.id}/parts/since/"
    text = html(page.get(url, {"from": "0"}))
    assert "&lt;script&gt;" in text
    assert "<script" not in text
    size = len(f"one {HOSTILE}\n")
    assert f'data-next="{size}"' in text
    assert '<div class="l"' not in html(page.get(url, {"from": str(size)}))
    assert page.get(url, {"stream": "stdin"}).status_code == 404
    assert page.get(url, {"from": "9" * 30, "stream": "stderr"}).status_code == 200


def test_downloads_are_attachments_and_exact(page: Client, run: Run) -> None:
    log = page.get(f"/runs/{run.id}/output/stdout.log")
    assert log.content == f"one {HOSTILE}\n".encode()
    patch = page.get(f"/runs/{run.id}/changes.patch")
    assert b"GIT binary patch" in patch.content
    for response in (log, patch):
        assert response["Content-Type"] == "application/octet-stream"
        assert response["Content-Disposition"].startswith("attachment;")
        assert response["X-Content-Type-Options"] == "nosniff"
    assert page.get(f"/runs/{run.id}/output/other.log").status_code == 404


def test_a_download_says_where_it_was_cut(page: Client, run: Run) -> None:
    folder = paths.agent_dir(run.id) / "stdout"
    for segment in folder.iterdir():
        segment.unlink()
    write_files(folder, {segment_name(0): b"head\n", segment_name(105): b"tail\n"})
    log = page.get(f"/runs/{run.id}/output/stdout.log").content
    assert log == b"head\n\n[codeframe: 100 bytes were cut here]\ntail\n"


def test_changes_are_shown_as_text_with_a_binary_file_named(page: Client, run: Run) -> None:
    for query in ({}, {"view": "split"}, {"space": "ignore"}, {"file": "2"}):
        text = html(page.get(f"/runs/{run.id}/changes/", query))
        assert "<script" not in text.replace("<script src=", ""), query
    text = html(page.get(f"/runs/{run.id}/changes/"))
    assert "&lt;script&gt;alert(1)&lt;/script&gt; twice" in text
    assert "A binary file" in text
    for wrong in ("0", "x", "²", "9" * 40):
        assert page.get(f"/runs/{run.id}/changes/", {"file": wrong}).status_code in (200, 404)


def test_a_repository_that_is_gone_is_said_in_words(page: Client, run: Run) -> None:
    path = Path(run.batch.workspace.repo_path)
    path.rename(path.with_name("moved"))
    assert str(path) in html(page.get(f"/runs/{run.id}/changes/"))
    assert page.get(f"/runs/{run.id}/changes.patch").status_code == 404


def test_the_command_and_names_of_variables_are_shown_and_no_value(
    page: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = html(page.get(f"/runs/{run.id}/details/"))
    assert "tests/fakes/agent.py" in text
    assert "<code>CODEFRAME_PROMPT_FILE</code>" in text
    assert str(paths.run_dir(run.id) / "home") not in text


def test_a_run_that_never_began_has_nothing_and_leaves_no_folder(
    page: Client, tmp_path: Path
) -> None:
    workspace = make_workspace(tmp_path)
    batch = make_batch(workspace, [make_task(workspace)])
    run = Run.objects.get(batch=batch)
    for tab in ("", "changes/", "checks/", "events/", "activity/", "details/"):
        assert page.get(f"/runs/{run.id}/{tab}").status_code == 200, tab
    assert not (paths.state_folder("runs") / run.id.hex).exists()
