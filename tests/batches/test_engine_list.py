"""What is offered: engines that are there, log in, and answer; no request ever starts one."""

import json
from pathlib import Path

import pytest
from pytest_django import Settings

from batches import engine_versions, jobs
from batches.engine_list import EngineInfo, engines, usable
from batches.models import CommandEngine
from tests.fakes import AGENT

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine: no agents on the PATH, no log-ins, no keys."""
    settings.STATE_DIR = tmp_path / "state"
    settings.ENGINE_PROGRAMS = {}
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def program(tmp_path: Path, settings: Settings, body: str, kind: str = "codex") -> Path:
    path = tmp_path / kind
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    settings.ENGINE_PROGRAMS = {kind: str(path)}
    return path


def info(name: str) -> EngineInfo:
    return next(info for info in engines() if info.name == name)


def test_what_is_missing_is_said_with_the_way_to_get_it() -> None:
    assert usable() == []
    missing = info("codex")
    assert "not on the server's PATH" in missing.problem
    assert missing.get == "npm install -g @openai/codex"


def test_a_program_without_a_log_in_is_not_offered(tmp_path: Path, settings: Settings) -> None:
    program(tmp_path, settings, "echo 1.2.3")
    assert "not logged in" in info("codex").problem
    assert not info("codex").usable


def test_a_key_or_a_log_in_on_the_host_makes_it_usable(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, settings, "echo 1.2.3")
    login = tmp_path / "nobody" / ".codex" / "auth.json"
    login.parent.mkdir(parents=True)
    login.write_text("{}")
    assert (info("codex").usable, info("codex").login) == (True, str(login))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    assert info("codex").login == "OPENAI_API_KEY"
    assert [found.name for found in usable()] == ["codex", "builtin"]  # one key, two engines


def test_listing_starts_nothing_and_a_job_finds_the_version(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    began = tmp_path / "began"
    path = program(tmp_path, settings, f"echo x >> {began}; echo tool 1.2.3")
    assert info("codex").version == ""
    assert not began.exists()
    jobs.check_engines()
    jobs.check_engines()
    assert info("codex").version == "tool 1.2.3"
    assert began.read_text() == "x\n"
    path.write_text(path.read_text() + "# another program\n")
    assert info("codex").version == ""


def test_a_program_that_cannot_say_its_version_is_not_offered(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    program(tmp_path, settings, "echo needs another machine >&2; exit 7")
    engine_versions.refresh()
    assert "needs another machine" in info("codex").problem
    assert not info("codex").usable


def test_a_program_that_hangs_is_given_up(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    monkeypatch.setattr(engine_versions, "PROBE_SECONDS", 0.3)
    program(tmp_path, settings, "sleep 60")
    engine_versions.refresh()
    assert info("codex").problem


def test_the_probe_sees_no_key(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    program(tmp_path, settings, f"env > {tmp_path}/env; echo 1")
    engine_versions.refresh()
    assert "sk-x" not in (tmp_path / "env").read_text()


def test_a_refresh_is_asked_for_once_in_a_while(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not engine_versions.ask_soon()
    program(tmp_path, settings, "echo 1.2.3")
    assert engine_versions.ask_soon()
    assert not engine_versions.ask_soon()
    monkeypatch.setattr(engine_versions, "ASK_AGAIN_SECONDS", 0.0)
    assert engine_versions.ask_soon()
    engine_versions.refresh()
    assert not engine_versions.ask_soon()


def test_notes_that_are_damaged_are_as_none(tmp_path: Path, settings: Settings) -> None:
    program(tmp_path, settings, "echo 1.2.3")
    folder = tmp_path / "state" / "engines"
    folder.mkdir(parents=True)
    for text in ("", "[]", "{", json.dumps({"codex": {"stamp": 7}})):
        (folder / "versions.json").write_text(text)
        assert info("codex").version == ""


def test_command_engines_are_listed_too() -> None:
    CommandEngine.objects.create(name="fixer", argv=AGENT)
    CommandEngine.objects.create(name="gone", argv=["/no/such/program"])
    CommandEngine.objects.create(name="off", argv=AGENT, enabled=False)
    assert [found.name for found in usable()] == ["fixer"]
    assert "/no/such/program" in info("gone").problem
    assert info("off").problem == "switched off"
    assert not info("fixer").tells_usage
