import threading
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from batches.provisioning import building, tools
from batches.provisioning.building import Order
from batches.provisioning.steps import Step, Steps
from batches.provisioning.tools.base import Need
from batches.supervisor.client import StopRequest
from tests.batches.provisioning.toy import CLASS, NAME


class Asked(Exception):
    """What the run's scope raises."""


class Orders:
    """Orders for toys in one folder, and what became of their steps."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.root = root
        self.stop = threading.Event()
        self.steps: list[Step] = []
        self.waited = threading.Event()
        self._number = 0

    def __call__(self, script: str, *, disk_floor: int = 0, probes=(), tool: str = NAME) -> Order:
        self._number += 1
        work = self.root / f"work-{self._number}"
        steps = Steps(
            work=work,
            check=self._check,
            should_stop=lambda: StopRequest("stop") if self.stop.is_set() else None,
            deadline_s=60,
            on_step=self.steps.append,
        )
        return Order(
            home=self.home,
            need=Need(tool=tool, files={"toy.lock": script.encode()}),
            steps=steps,
            disk_floor=disk_floor,
            probes=probes,
            on_wait=self.waited.set,
        )

    def _check(self) -> None:
        if self.stop.is_set():
            raise Asked

    def folders(self) -> list[Path]:
        return [path for path in self.home.iterdir() if path.is_dir()]


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tools.TOOLS, NAME, CLASS)
    monkeypatch.setattr(building, "_failures", {})


@pytest.fixture
def orders(tmp_path: Path, toy: None) -> Orders:
    return Orders(tmp_path)


def make_wheel(folder: Path, name: str, files: Mapping[str, str]) -> Path:
    """A wheel made by hand, so that no build backend and no index is needed."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    content = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{entry},,\n" for entry in [*content, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for entry, text in {**content, f"{info}/RECORD": record}.items():
            archive.writestr(entry, text)
    return path


@pytest.fixture
def wheel() -> Callable[..., Path]:
    return make_wheel
