from pathlib import Path

import pytest

from tests.batches.engines.builtin.running import KEY, Place


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("TEST_KEY", KEY)
    (tmp_path / "tree").mkdir()
    return Place(tmp_path)
