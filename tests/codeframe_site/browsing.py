"""What a person does with our pages."""

import re

from django.http import HttpResponse
from django.test import Client

from tests.codeframe_site.rows import batch_row, run_row, workspace_row


def html(response: HttpResponse) -> str:
    return response.content.decode()


def press(client: Client, url: str, verb: str) -> HttpResponse:
    """Presses a page's button: with the token that the page's form carries."""
    form = re.search(
        rf'action="([^"]*/{verb}/)"><input type="hidden" name="csrfmiddlewaretoken" value="(\w+)"',
        html(client.get(url)),
    )
    assert form, f"the page has no button {verb}"
    return client.post(form[1], {"csrfmiddlewaretoken": form[2]}, follow=True)


def every_page(name: str = "repo") -> list[str]:
    workspace = workspace_row(name)
    run = run_row(batch_row(workspace))
    return [
        "/",
        f"/workspaces/{workspace.id}/",
        f"/workspaces/{workspace.id}/?status=READY",
        "/batches/",
        f"/batches/{run.batch_id}/",
        f"/runs/{run.id}/",
        f"/runs/{run.id}/changes/",
        f"/runs/{run.id}/checks/",
        f"/runs/{run.id}/events/",
        f"/runs/{run.id}/details/",
        f"/workspaces/{workspace.id}/run/",
        f"/workspaces/{workspace.id}/events/",
    ]
