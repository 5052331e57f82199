"""Waits of the product, made short enough for tests."""

from pathlib import Path

import pytest
from pytest_django import Settings

from batches import retry, watch
from tests.fakes.program import Program


@pytest.fixture
def quick(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """People's orders are read more often, agents have less grace, retries wait for nothing."""
    monkeypatch.setattr(watch, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(retry, "BACKOFF_S", (0.0, 0.0, 0.0))
    settings.STOP_GRACE_SECONDS = 1


@pytest.fixture
def claude(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Program:
    program = Program(tmp_path, "claude")
    settings.ENGINE_PROGRAMS = {"claude": str(program.path)}
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-only-for-tests")
    return program
