from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from batches import retry, watch
from batches.models import CommandEngine
from codeframe_site import rates
from codeframe_site.models import Scope
from codeframe_site.tokens import make_token
from tasks.models import Membership, Workspace
from tests.api.client import Api, person
from tests.factories import make_workspace
from tests.fakes import AGENT


@pytest.fixture(autouse=True)
def _nobody_has_asked_yet() -> None:
    """A process counts for itself too, which outlives a test."""
    rates.forget()


@pytest.fixture
def make_api(db: None) -> Callable[..., Api]:
    def make(scope: Scope = Scope.WRITE, *, superuser: bool = True, name: str = "ada") -> Api:
        _, key = make_token(user=person(name, superuser=superuser), name="test", scope=scope)
        return Api(key)

    return make


@pytest.fixture
def api(make_api: Callable[..., Api]) -> Api:
    return make_api()


@pytest.fixture
def member(make_api: Callable[..., Api]) -> Callable[..., Api]:
    """A program of somebody with a role in a workspace."""

    def make(workspace: Workspace, role: str, scope: Scope = Scope.WRITE) -> Api:
        made = make_api(scope, superuser=False, name=role)
        Membership.objects.get_or_create(workspace=workspace, user=person(role), role=role)
        return made

    return make


@pytest.fixture
def shop(tmp_path: Path, db: None) -> Workspace:
    """A real repository, and one agent to choose."""
    CommandEngine.objects.create(name="agent", argv=AGENT)
    return make_workspace(tmp_path, name="shop")


@pytest.fixture
def quick(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits of the product, made short."""
    monkeypatch.setattr(watch, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(retry, "BACKOFF_S", (0.0, 0.0, 0.0))
    settings.STOP_GRACE_SECONDS = 1
