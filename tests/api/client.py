"""A program that uses the API. Every answer it gets is held against the OpenAPI document."""

import json
import re
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

BASE = "/api/v2/"
ANY = "urn:document"
OUTSIDE = (405,)
"""Statuses of the router, which no operation lists."""


class Api:
    """With a token: JSON in, (status, JSON) out."""

    def __init__(self, key: str = "", client: Client | None = None, **headers: str) -> None:
        self.client = client or Client(raise_request_exception=False)
        self.headers = ({"Authorization": f"Bearer {key}"} if key else {}) | headers

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        response = self.raw(method, path, body, **headers)
        return response.status_code, response.json() if response.content else None

    def raw(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        response = self.client.generic(
            method,
            BASE + path,
            data,
            content_type="application/json",
            headers=self.headers | headers,
        )
        hold_against_document(method, path, response)
        return response

    def get(self, path: str) -> Any:
        """The JSON of what must be there."""
        status, body = self("GET", path)
        assert status == 200, body
        return body

    def post(self, path: str, body: Any = None, *, status: int = 200) -> Any:
        """The JSON of what must succeed."""
        got, answer = self("POST", path, {} if body is None else body)
        assert got == status, answer
        return answer


def person(name: str, *, superuser: bool = False) -> User:
    user, _ = User.objects.get_or_create(username=name, defaults={"is_superuser": superuser})
    return user


def code_of(answer: tuple[int, Any]) -> tuple[int, str]:
    """Of a refusal, which has the one shape: status and code."""
    status, body = answer
    assert set(body) == {"detail"}, body
    assert (
        {"error", "code", "detail"} <= set(body["detail"]) <= {"error", "code", "detail", "errors"}
    )
    return status, body["detail"]["code"]


@cache
def document() -> dict[str, Any]:
    schema = SchemaGenerator().get_schema(request=None, public=True)
    return json.loads(json.dumps(schema))


@cache
def _operations() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    """Literal paths first, as the router has them."""
    paths = sorted(document()["paths"].items(), key=lambda item: item[0].count("{"))
    return [(re.compile(re.sub(r"{\w+}", "[^/]+", path)), methods) for path, methods in paths]


@cache
def _registry() -> Registry[Any]:
    resource = Resource.from_contents(document(), default_specification=DRAFT202012)
    return Registry().with_resource(ANY, resource)


def operation(method: str, path: str) -> dict[str, Any] | None:
    plain = urlsplit(BASE + path).path
    for pattern, methods in _operations():
        if pattern.fullmatch(plain):
            return methods.get("get" if method == "HEAD" else method.lower())
    return None


def hold_against_document(method: str, path: str, response: Any) -> None:
    described = operation(method, path)
    if described is None or response.status_code in OUTSIDE:
        return
    answers = described["responses"]
    status = str(response.status_code)
    assert status in answers, f"{method} {path} answers {status}, which is in no document"
    kinds = answers[status].get("content", {})
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    if not kinds:
        assert not response.content
        return
    assert kind in kinds, f"{method} {path} answers {kind}, which is in no document"
    if kind == "application/json" and response.content:
        schema = json.loads(json.dumps(kinds[kind]["schema"]).replace('"#/', f'"{ANY}#/'))
        Draft202012Validator(schema, registry=_registry()).validate(response.json())
