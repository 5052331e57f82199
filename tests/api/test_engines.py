from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from batches.models import CommandEngine
from codeframe_site.models import Scope
from tasks.models import Workspace
from tests.api.client import Api
from tests.fakes import AGENT

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def bare(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.STATE_DIR = tmp_path / "state"
    settings.ENGINE_PROGRAMS = {"codex": "/no/such/codex"}
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


def names(api: Api, path: str = "engines") -> list[str]:
    return [engine["name"] for engine in api.get(path)["engines"]]


def test_only_what_works_is_offered(api: Api) -> None:
    CommandEngine.objects.create(name="fixer", argv=AGENT)
    CommandEngine.objects.create(name="gone", argv=["/no/such/program"])
    assert names(api) == ["fixer"]
    assert names(api, "engines?all=true") == [
        "claude",
        "codex",
        "opencode",
        "gemini",
        "builtin",
        "fixer",
        "gone",
    ]


def test_where_things_lie_on_the_server_is_for_who_runs_it(
    make_api: Callable[..., Api], member: Callable[..., Api], shop: Workspace
) -> None:
    def fixer(api: Api) -> dict[str, str]:
        return next(e for e in api.get("engines")["engines"] if e["name"] == "agent")

    assert fixer(make_api(Scope.ADMIN))["path"] == AGENT[0]
    assert fixer(make_api(Scope.WRITE))["path"] == ""
    assert fixer(member(shop, "viewer", Scope.READ))["path"] == ""


def test_the_number_of_queries_does_not_grow(api: Api) -> None:
    names(api)  # the token's first use is noted
    counts = []
    for many in (1, 50):
        CommandEngine.objects.bulk_create(
            CommandEngine(name=f"e{many}-{n}", argv=AGENT) for n in range(many)
        )
        with CaptureQueriesContext(
            connection,
        ) as queries:
            names(api)
        counts.append(len(queries))
    assert counts[0] == counts[1]
