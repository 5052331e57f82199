import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from codeframe_site.tokens import make_token
from tasks.models import Workspace
from tests.codeframe_site.rows import workspace_row
from tests.codeframe_site.server_process import Web, web
from tests.faults.world import database_url


@pytest.fixture(scope="module")
def start_server(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Any]:
    """A real web server on this test's database."""

    def start(*words: str, **more: str) -> Any:
        state: Path = tmp_path_factory.mktemp("state")
        with django_db_blocker.unblock():
            url = database_url()
        ours = {"DATABASE_URL": url, "CODEFRAME_SECRET_KEY": settings.SECRET_KEY}
        return web(state, *words, **ours, **more)

    return start


@pytest.fixture(scope="module")
def server(start_server: Callable[..., Any]) -> Iterator[Web]:
    with start_server(CODEFRAME_MAX_STREAMS_PER_USER="500") as started:
        yield started


@pytest.fixture
def shop(transactional_db: None) -> Workspace:
    return workspace_row("shop")


@pytest.fixture
def ada(transactional_db: None) -> User:
    return User.objects.create_superuser("ada", password="x", is_staff=True)


@pytest.fixture
def headers(ada: User) -> dict[str, str]:
    """Of a program that may see everything."""
    _, key = make_token(user=ada, name="test")
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def descriptors() -> Callable[[int], int]:
    return lambda pid: len(os.listdir(f"/proc/{pid}/fd"))
