from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.world import World


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Environment variables as keywords; whatever is left of a world at the end is killed."""
    made: list[World] = []

    def make(**environment: str) -> World:
        made.append(World(tmp_path, **environment))
        return made[-1]

    yield make
    for world in made:
        world.destroy()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the tests measured, in seconds unless it says otherwise."""
    measured = [r for r in terminalreporter.getreports("passed") if r.user_properties]
    for report in measured:
        said = ", ".join(f"{name} {value}" for name, value in report.user_properties)
        terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {said}")
