"""A worker as a machine runs it: the real command, restarted whenever it has ended."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db import connection

from tests.faults import host
from tests.faults.pausing import FOLDER

ROOT = Path(__file__).resolve().parents[2]


def database_url() -> str:
    """Of the database this test uses."""
    row = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite://{quote(str(row['NAME']))}"
    user = ":".join(quote(str(row[name]), safe="") for name in ("USER", "PASSWORD") if row[name])
    where = f"{row['HOST'] or '127.0.0.1'}:{row['PORT'] or 5432}"
    return f"postgres://{user}@{where}/{quote(str(row['NAME']))}"


class World:
    """`workers` are what the tests started; the first is the one that is kept running."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.state = Path(settings.STATE_DIR)
        self.pauses = folder / "pauses"
        self.notes = folder / "notes"
        self.log = folder / "worker.log"
        self.exits: list[int] = []
        self.pauses.mkdir()
        self.notes.mkdir()
        self._environment = os.environ | {
            "CODEFRAME_STATE_DIR": str(self.state),
            "DATABASE_URL": database_url(),
            "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
            FOLDER: str(self.pauses),
            **environment,
        }
        self._workers: list[subprocess.Popen[bytes]] = []

    # -- the worker command ----------------------------------------------------------------------

    def start(self) -> None:
        """The worker that is kept running; returns once it is ready."""
        self._workers.insert(0, self._spawn())
        self.wait_for(lambda: self.role("pusher"), "the worker is ready")

    def start_another(self) -> subprocess.Popen[bytes]:
        worker = self._spawn()
        self._workers.append(worker)
        return worker

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "manage.py", "worker"],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def main(self) -> subprocess.Popen[bytes]:
        return self._workers[0]

    def keep_running(self) -> None:
        """What systemd does with Restart=always."""
        code = self.main.poll()
        if code is not None:
            self.exits.append(code)
            self._workers[0] = self._spawn()

    def wait_for(self, condition: Callable[[], Any], what: str, *, seconds: float = 60.0) -> Any:
        """With the worker kept running meanwhile."""

        def look() -> Any:
            self.keep_running()
            return condition()

        try:
            return host.wait_for(look, what, seconds=seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.tail()}") from None

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Sends the signal to the kept worker; returns its exit code."""
        self.main.send_signal(number)
        return self.main.wait(timeout=15)

    def wait_until_empty(self) -> None:
        """Nothing that the product started is left on the machine."""
        state = str(self.state)
        host.wait_for(lambda: not any(host.carrying(state)), "no process is left", seconds=10)

    def destroy(self) -> None:
        """Whatever state the test left it in."""
        started = [pid for worker in self._workers for pid in host.family_of(worker.pid)]
        for _ in range(2):
            host.kill(*started, *host.carrying(str(self.state)))
        for worker in self._workers:
            worker.wait(timeout=10)

    def tail(self, lines: int = 60) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    # -- its processes ---------------------------------------------------------------------------

    @property
    def sentinel(self) -> int:
        return next(iter(host.children_of(self.main.pid)), 0)

    def role(self, name: str) -> list[int]:
        """Living queue processes: `worker`, `monitor` or `pusher`."""
        noted = [int(path.stem) for path in self.pauses.glob(f"*.{name}")]
        return [pid for pid in noted if host.parent_of(pid) == self.sentinel]

    def cluster(self) -> list[int]:
        """All of the command's own processes; supervisors and what they run are not."""
        others = {*host.supervisors(self.state), *host.supervised(self.state)}
        return [pid for pid in host.family_of(self.main.pid) if pid not in others]

    # -- pauses ----------------------------------------------------------------------------------

    def pause(self, workspace: Any, point: str) -> None:
        (self.pauses / f"{workspace.id.hex}.{point}.pause").touch()

    def reached(self, workspace: Any, point: str) -> int:
        """The pid of the process that waits there, else 0."""
        note = self.pauses / f"{workspace.id.hex}.{point}.reached"
        return int(note.read_text()) if note.exists() else 0

    def release(self) -> None:
        (self.pauses / "go").touch()

    def rearm(self) -> None:
        (self.pauses / "go").unlink(missing_ok=True)
