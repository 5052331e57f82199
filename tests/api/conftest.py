from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from codeframe_site.models import Scope
from codeframe_site.tokens import make_token


class Api:
    """A program with a token: JSON in, (status, JSON) out."""

    def __init__(self, key: str) -> None:
        self._client = Client(raise_request_exception=False)
        self._headers = {"Authorization": f"Bearer {key}"}

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        response = self.raw(method, path, body, **headers)
        return response.status_code, response.json() if response.content else None

    def raw(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        extra = {} if body is None else {"data": body, "content_type": "application/json"}
        call = getattr(self._client, method.lower())
        return call(f"/api/v2/{path}", headers=self._headers | headers, **extra)


@pytest.fixture
def make_api(db: None) -> Callable[..., Api]:
    def make(scope: Scope = Scope.WRITE, *, superuser: bool = True, name: str = "ada") -> Api:
        user, _ = User.objects.get_or_create(username=name, is_superuser=superuser)
        _, key = make_token(user=user, name="test", scope=scope)
        return Api(key)

    return make


@pytest.fixture
def api(make_api: Callable[..., Api]) -> Api:
    return make_api()
