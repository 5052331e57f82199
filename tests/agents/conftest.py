"""Real command lines of agents, a model server of our own, and batches between them."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from batches import retry, watch
from batches.models import Batch
from tasks.models import Task, Workspace
from tests.architecture.source import ROOT
from tests.factories import make_batch, make_workspace
from tests.fakes.models import ModelServer
from tests.fakes.models.protocols import Spent

FOLDER = Path(os.environ.get("CODEFRAME_TEST_AGENTS") or ROOT / ".venv" / "agents")
PROGRAMS = {
    "claude": ("@anthropic-ai/claude-code-linux-x64/claude", ".bin/claude"),
    "codex": (".bin/codex",),
    "opencode": (".bin/opencode",),
    "gemini": (".bin/gemini",),
}
MODELS = {
    "claude": "claude-sonnet-4-5",
    "codex": "gpt-5",
    "opencode": "openai/gpt-5",
    "gemini": "gemini-2.5-pro",
}


def program_of(kind: str) -> Path | None:
    paths = (FOLDER / "node_modules" / name for name in PROGRAMS[kind])
    return next((path for path in paths if path.exists()), None)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """Each answered call has counts of its own, so that a sum can be right in one way only."""
    with ModelServer(spend=lambda n: Spent(fresh=1000 + n, read=200, output=30 + n)).serving() as s:
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
            monkeypatch.setenv(name, f"sk-{name.lower()}")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", s.url)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{s.url}/v1")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", s.url)
        yield s


@pytest.fixture
def start(
    settings: Settings, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Batch]:
    monkeypatch.setattr(watch, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(retry, "BACKOFF_S", (0.0, 0.0, 0.0))
    settings.STOP_GRACE_SECONDS = 3

    def make(kind: str, workspace: Workspace, **changes: Any) -> Batch:
        program = program_of(kind)
        if program is None:
            pytest.skip(f"{kind} is not in {FOLDER}: make test-engines installs it")
        settings.ENGINE_PROGRAMS = {kind: str(program)}
        options: dict[str, Any] = {"engine": kind, "engine_options": {"kind": kind}}
        return make_batch(workspace, **(options | {"model": MODELS[kind]} | changes))

    return make


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def scripted(workspace: Workspace, title: str, *steps: str) -> Task:
    """See tests/fakes/models/script.py."""
    description = "\n".join(f"model: {step}" for step in steps)
    return Task.objects.create(
        workspace=workspace, title=title, description=description, status="READY"
    )
