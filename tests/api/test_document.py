"""The OpenAPI document: valid, complete, served with its page from local files, and true."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import schemathesis
from django.core.management import call_command
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from codeframe_site.models import Scope
from tests.api.client import BASE, Api, document, person
from tests.api.rows import World
from tests.architecture.source import ROOT

pytestmark = pytest.mark.django_db
HTML = {"Accept": "text/html"}


@pytest.fixture
def browser(db: None) -> Client:
    client = Client()
    client.force_login(person("ada", superuser=True))
    return client


def test_the_document_is_valid_and_nothing_in_it_was_guessed(tmp_path: Path) -> None:
    target = tmp_path / "schema.yaml"
    call_command("spectacular", validate=True, fail_on_warn=True, file=str(target))
    assert target.stat().st_size > 10_000


def operations() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method} {path}", operation)
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_operation_has_a_name_a_sentence_and_its_refusals() -> None:
    names = [operation["operationId"] for _, operation in operations()]
    assert len(names) == len(set(names)) > 45
    for where, operation in operations():
        assert operation["summary"], where
        assert {"401", "403", "404", "422", "429", "500", "503"} <= operation["responses"].keys()
        for status, response in operation["responses"].items():
            if status >= "400":
                (content,) = response["content"].values()
                assert content["schema"]["$ref"].endswith("/ErrorShape"), where
                assert content["examples"], where


def test_what_changes_something_shows_an_example() -> None:
    lacking = [
        where
        for where, operation in operations()
        if "requestBody" in operation
        and not operation["requestBody"]["content"]["application/json"].get("examples")
    ]
    assert lacking == ["post /api/v2/tasks/{task_id}/resume"]


def test_both_ways_to_send_a_key_are_described() -> None:
    schemes = document()["components"]["securitySchemes"]
    assert {"bearer", "key", "cookieAuth"} <= schemes.keys()


def test_the_page_needs_nothing_from_elsewhere(browser: Client) -> None:
    response = browser.get("/api/docs", headers=HTML)
    assert response.status_code == 200
    page = response.content.decode()
    assert "http://" not in page
    assert "https://" not in page
    policy = response.headers["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "default-src 'none'" in policy
    assert "<script>" not in page
    parts = [part.split('"')[0] for part in page.replace("href=", "src=").split('src="')[1:]]
    assert len(parts) >= 4
    for part in parts:
        assert browser.get(part.replace("&amp;", "&")).status_code == 200, part


def test_the_document_is_served_to_who_has_signed_in(browser: Client) -> None:
    response = browser.get("/api/schema", headers={"Accept": "application/vnd.oai.openapi+json"})
    assert response.status_code == 200
    assert f"{BASE}tasks/execute" in response.json()["paths"]
    assert Client().get("/api/schema").status_code == 401
    assert Client().get("/api/docs", headers=HTML).headers["Location"].startswith("/login/")


# -- docs/api.md ---------------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def test_the_page_shows_every_route_by_example() -> None:
    shown = {
        (method, re.sub(r"{\w+}", "{}", path))
        for method, path in re.findall(r"^(GET|POST|PUT|PATCH|DELETE) +(/api[^\s?]*)", PAGE, re.M)
    }
    known = {
        (method.upper(), re.sub(r"{\w+}", "{}", path))
        for path, methods in document()["paths"].items()
        for method in methods
    }
    # Served beside Django, so in no document of its views; see docs/streams.md.
    streams = {
        ("GET", f"/api/v2/{kind}/{{}}/stream")
        for kind in ("workspaces", "batches", "runs", "tasks")
    }
    assert shown == known | streams


def test_the_tests_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"`(test_\w+\.py)`", PAGE))
    assert len(named) > 5
    assert [name for name in named if not (ROOT / "tests" / "api" / name).is_file()] == []


def test_the_table_of_the_older_api_names_a_test_of_each_endpoint_that_is_there() -> None:
    """A test that asks that very path, or `later` in both of the last columns."""
    rows = re.findall(r"^\| (\d+) \| `\w+ ([^`]+)` \|.*\| ([^|]+) \| ([^|]+) \|$", PAGE, re.M)
    assert [int(number) for number, *_ in rows] == list(range(1, 28))
    for _, path, here, tests in rows:
        files = re.findall(r"`((?:streams/)?test_\w+\.py)`", tests)
        assert files or (tests.strip() == "later" and here.startswith("later")), path
        last = [part for part in path.split("/") if part and not part.startswith("{")][-1]
        folders = [ROOT / "tests" / ("" if "/" in name else "api") / name for name in files]
        sources = [file.read_text(encoding="utf-8") for file in folders]
        assert all(last in source for source in sources), (path, files)


# -- what generated requests find ----------------------------------------------------------------

SCHEMA = schemathesis.openapi.from_dict(document())
CASES = [result.ok() for result in SCHEMA.get_all_operations()]
MODES = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
EXAMPLES = 6
SITE = "http://testserver"


@pytest.mark.schema
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: str(mode.value))
@pytest.mark.parametrize("operation", CASES, ids=lambda operation: str(operation.label))
def test_generated_requests_get_what_the_document_says(
    operation: Any, mode: GenerationMode, make_api: Callable[..., Api]
) -> None:
    """Status, kind and shape of each answer are held against it by the client."""
    world, api = World(), make_api(Scope.ADMIN)
    cases = operation.as_strategy(generation_mode=mode)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases, real=st.booleans())
    def send(case: Any, real: bool) -> None:
        for name in case.path_parameters if real else ():
            case.path_parameters[name] = str(world.ids.get(name.removesuffix("_id"), "ada"))
        sent = case.as_transport_kwargs(base_url=SITE)
        path = sent["url"].removeprefix(SITE + BASE)
        query = urlencode(sent.get("params") or {}, doseq=True, errors="surrogatepass")
        response = api.raw(sent["method"], f"{path}?{query}", sent.get("json"))
        assert response.status_code < 500, response.content

    send()
