"""PostgreSQL goes away in mid-batch, on a server of the test's own."""

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from tests.faults import host
from tests.faults.cells import make_cell, make_repositories, send, wait_until_ended
from tests.faults.world import World

DEBIAN = Path("/usr/lib/postgresql")
ACCOUNT = "postgres"


def _binaries() -> Path | None:
    found = sorted(DEBIAN.glob("*/bin/initdb")) if DEBIAN.is_dir() else []
    return found[-1].parent if found and shutil.which("runuser") and os.geteuid() == 0 else None


pytestmark = [
    pytest.mark.faults,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(300),
    pytest.mark.skipif(not host.ON_LINUX, reason="finds processes in /proc"),
    pytest.mark.skipif(
        _binaries() is None,
        reason="needs Debian's PostgreSQL server, and root to run it as another",
    ),
]


class Server:
    """PostgreSQL refuses to run as root, so it runs as the account of Debian's package."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._binaries = binaries
        self._data = folder / "data"
        self.port = _free_port()

    def make(self) -> None:
        self._data.mkdir()
        shutil.chown(self._data, ACCOUNT, ACCOUNT)
        self._call("initdb", "--auth=trust", "--no-sync", "-D", str(self._data))
        self.start()

    def start(self) -> None:
        options = f"-p {self.port} -k {self._data} -c listen_addresses=127.0.0.1"
        self._control("start", "-o", options, "-l", str(self._data / "log"))

    def place(self) -> dict[str, str]:
        """As in Django's DATABASES."""
        where = {"HOST": "127.0.0.1", "PORT": str(self.port), "NAME": ACCOUNT}
        return where | {"USER": ACCOUNT, "PASSWORD": ""}

    def stop(self, how: str) -> None:
        self._control("stop", "-m", how)

    def _control(self, *arguments: str) -> None:
        self._call("pg_ctl", "-w", "-D", str(self._data), *arguments)

    def _call(self, program: str, *arguments: str) -> None:
        command = ["runuser", "-u", ACCOUNT, "--", str(self._binaries / program), *arguments]
        # Without our environment: whatever names our state folder counts as the product's.
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
        subprocess.run(command, check=True, cwd="/", env=env, stdout=subprocess.DEVNULL, timeout=60)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The default connection leads to it meanwhile."""
    if connection.vendor != "postgresql":
        pytest.skip("the session's database is not PostgreSQL")
    folder = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    folder.chmod(0o755)
    binaries = _binaries()
    assert binaries is not None
    server = Server(binaries, folder)
    server.make()
    before = dict(connection.settings_dict)
    _lead_to(before | server.place())
    try:
        call_command("migrate", verbosity=0)
        yield server
    finally:
        _lead_to(before)
        server.stop("immediate")
        shutil.rmtree(folder)


def _lead_to(place: Mapping[str, Any]) -> None:
    connection.close()
    connection.settings_dict.update(place)


@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_batch_goes_on_after_the_database_was_restarted(
    how: str, server: Server, make_world: Callable[..., World], tmp_path: Path
) -> None:
    world = make_world()
    world.start()
    [repository] = make_repositories(tmp_path / "r", ["outage"])
    cell = make_cell(world, repository, "outage")
    cell.hold("agent")
    send(cell)
    world.wait_for(lambda: cell.starts(cell.tasks[0]), "the agent is at work")

    connection.close()
    server.stop(how)
    server.start()
    cell.let_work()
    wait_until_ended(world, [cell], since=0, seconds=60)
    assert cell.problems() == []
    assert world.stop() == 0
    world.wait_until_empty()
