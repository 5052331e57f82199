"""The system checks: the settings we ship pass, and each unsafe change of them is named."""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.checks import CheckMessage, run_checks
from pytest_django import Settings

from codeframe_site import loop_calls
from tasks.workspaces.inspection import require_version


@pytest.fixture(autouse=True)
def _ask_git_anew() -> Iterator[None]:
    require_version.cache_clear()
    yield
    require_version.cache_clear()


def _found() -> dict[str | None, CheckMessage]:
    return {message.id: message for message in run_checks(tags=["codeframe"])}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the platform itself is a warning")
def test_the_settings_we_ship_pass() -> None:
    assert _found() == {}


@pytest.mark.parametrize(
    ("change", "id"),
    [
        ({"retry": settings.Q_CLUSTER["timeout"]}, "codeframe.E001"),
        ({"retry": 60, "timeout": 30}, "codeframe.E002"),
        ({"timeout": None}, "codeframe.E002"),
        ({"ack_failures": False}, "codeframe.E003"),
        ({"ack_failures": None}, "codeframe.E003"),
        ({"max_attempts": 0}, "codeframe.E004"),
        ({"max_attempts": 3}, "codeframe.E004"),
        ({"sync": True}, "codeframe.E005"),
        ({"orm": None}, "codeframe.E006"),
        ({"orm": "other"}, "codeframe.E006"),
        ({"ALT_CLUSTERS": None}, "codeframe.E007"),
    ],
)
def test_an_unsafe_queue_is_refused(change: dict[str, Any], id: str, settings: Settings) -> None:
    settings.Q_CLUSTER = settings.Q_CLUSTER | change
    found = _found()
    assert list(found) == [id]
    assert found[id].is_serious()
    assert found[id].hint


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("retry", "codeframe.E001"),
        ("ack_failures", "codeframe.E003"),
        ("max_attempts", "codeframe.E004"),
        ("orm", "codeframe.E006"),
        ("ALT_CLUSTERS", "codeframe.E007"),
    ],
)
def test_a_queue_that_leaves_it_to_the_default_is_refused(
    name: str, id: str, settings: Settings
) -> None:
    settings.Q_CLUSTER = {key: value for key, value in settings.Q_CLUSTER.items() if key != name}
    assert id in _found()


def test_a_named_redis_is_a_broker_too(settings: Settings) -> None:
    settings.Q_CLUSTER = settings.Q_CLUSTER | {"orm": None, "redis": {"host": "queue.example"}}
    assert _found() == {}


@pytest.mark.filterwarnings("ignore:Overriding setting DATABASES")
@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({}, {"codeframe.E010", "codeframe.E011"}),
        ({"transaction_mode": "IMMEDIATE"}, {"codeframe.E011"}),
        ({"init_command": "PRAGMA journal_mode = wal;"}, {"codeframe.E010"}),
        (
            {"transaction_mode": "DEFERRED", "init_command": "PRAGMA journal_mode=DELETE"},
            {"codeframe.E010", "codeframe.E011"},
        ),
        ({"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL"}, set()),
    ],
)
def test_sqlite_that_fails_under_load_is_refused(
    options: dict[str, str], ids: set[str], settings: Settings
) -> None:
    sqlite = {"ENGINE": "django.db.backends.sqlite3", "NAME": "x", "OPTIONS": options}
    settings.DATABASES = {"default": sqlite}
    assert set(_found()) == ids


@pytest.mark.filterwarnings("ignore:Overriding setting DATABASES")
def test_another_database_has_no_such_options(settings: Settings) -> None:
    settings.DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "x"}}
    assert _found() == {}


def test_a_missing_git_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert list(_found()) == ["codeframe.E020"]


@pytest.mark.parametrize(("version", "refused"), [("2.37.9", True), ("2.38.0", False)])
def test_an_old_git_is_refused(
    version: str, refused: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\necho git version {version}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    found = _found()
    assert list(found) == (["codeframe.E020"] if refused else [])
    if refused:
        assert version in found["codeframe.E020"].msg


@pytest.mark.parametrize(
    ("change", "ids"),
    [
        ({"WORKERS": 4, "MAX_CONCURRENT_BATCHES": 4}, ["codeframe.E030"]),
        ({"WORKERS": 4, "MAX_CONCURRENT_BATCHES": 3}, []),
        ({"HEARTBEAT_SECONDS": 5, "LEASE_SECONDS": 14}, ["codeframe.E031"]),
        ({"HEARTBEAT_SECONDS": 5, "LEASE_SECONDS": 15}, []),
    ],
)
def test_limits_that_starve_or_lose_a_batch_are_refused(
    change: dict[str, int], ids: list[str], settings: Settings
) -> None:
    for name, value in change.items():
        setattr(settings, name, value)
    assert list(_found()) == ids


def test_tracebacks_for_oneself_are_a_warning_for_a_network_an_error(
    settings: Settings,
) -> None:
    settings.DEBUG = True
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
    assert list(_found()) == ["codeframe.W040"]
    settings.ALLOWED_HOSTS = ["localhost", "codeframe.example"]
    found = _found()
    assert list(found) == ["codeframe.E040"]
    assert found["codeframe.E040"].is_serious()


@pytest.mark.parametrize(("mode", "ids"), [(0o700, []), (0o750, ["codeframe.W051"])])
def test_a_state_folder_that_others_can_read_is_a_warning(
    mode: int, ids: list[str], settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    folder.chmod(mode)
    settings.STATE_DIR = folder
    found = _found()
    assert list(found) == ids
    assert not any(message.is_serious() for message in found.values())


def test_a_call_that_may_hold_the_loop_too_long_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = replace(loop_calls.ALLOWED[0], bound_s=0.5, call="slow.call")
    monkeypatch.setattr(loop_calls, "ALLOWED", (slow,))
    found = _found()
    assert list(found) == ["codeframe.E060"]
    assert found["codeframe.E060"].is_serious()
    assert "slow.call" in found["codeframe.E060"].msg
    monkeypatch.setattr(loop_calls, "SHORTEST_S", {"a stream's heartbeat": 0.6})
    assert _found() == {}
