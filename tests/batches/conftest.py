"""Waits of the product, made short enough for tests."""

import pytest
from pytest_django import Settings

from batches import retry, watch


@pytest.fixture
def quick(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """People's orders are read more often, agents have less grace, retries wait for nothing."""
    monkeypatch.setattr(watch, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(retry, "BACKOFF_S", (0.0, 0.0, 0.0))
    settings.STOP_GRACE_SECONDS = 1
