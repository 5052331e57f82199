"""An installation of its own, worked with through `manage.py` as a person or cron does."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.commands.zygote import Zygote
from tests.fakes import AGENT

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[2]
OURS = ("CODEFRAME_", "DATABASE_URL", "DJANGO_", "PYTHONUNBUFFERED")
"""What a developer's own environment might set, and cron's does not."""
PATIENCE_S = 120.0


def wait_for(condition: Callable[[], T], what: str) -> T:
    """What the condition gives, once that is true."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < deadline, f"never came true: {what}"
        time.sleep(0.05)
    return found


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


class Started:
    """A command at work; what it prints goes to files, so that nothing waits for a reader."""

    def __init__(self, process: "subprocess.Popen[bytes]", out: Path, err: Path) -> None:
        self.process = process
        self._out, self._err = out, err

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def end(self) -> Done:
        code = self.process.wait(PATIENCE_S)
        return Done(code, self.out, self.err)


class Site:
    """State folder and SQLite database in `folder`; the database begins as a copy of `empty`."""

    def __init__(self, folder: Path, empty: bytes | None = None, **variables: str) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.database = self.state / "codeframe.sqlite3"
        clean = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
        self.environment = {
            **clean,
            "CODEFRAME_STATE_DIR": str(self.state),
            "CODEFRAME_STOP_GRACE_SECONDS": "1",
            "LC_ALL": "C.UTF-8",
            **variables,
        }
        self._started: list[Started] = []
        self._zygote: Zygote | None = None
        self.state.mkdir(parents=True, mode=0o700)
        if empty is not None:
            self.database.write_bytes(empty)

    # -- commands --------------------------------------------------------------------------------

    def run(self, *words: str | bytes, **variables: str) -> Done:
        """`manage.py WORDS` as a process of its own, to its end."""
        done = subprocess.run(
            _argv(words),
            cwd=ROOT,
            env=self.environment | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def quickly(self, *words: str | bytes, input: bytes = b"") -> Done:
        """As `run`, forked from a process that has imported everything already."""
        self._zygote = self._zygote or Zygote(self.environment)
        return Done(*self._zygote.run([os.fsencode(word) for word in words], input))

    def start(self, *words: str, **variables: str) -> Started:
        number = len(self._started)
        out, err = (self.folder / f"{name}-{number}" for name in ("out", "err"))
        with out.open("wb") as out_file, err.open("wb") as err_file:
            process = subprocess.Popen(
                _argv(words),
                cwd=ROOT,
                env=self.environment | variables,
                stdin=subprocess.DEVNULL,
                stdout=out_file,
                stderr=err_file,
                start_new_session=True,
            )
        self._started.append(Started(process, out, err))
        return self._started[-1]

    def good(self, *words: str | bytes, input: bytes = b"") -> Done:
        """Quickly, and it must succeed."""
        done = self.quickly(*words, input=input)
        assert (done.code, done.err) == (0, ""), done
        return done

    def destroy(self) -> None:
        for started in self._started:
            started.kill()
        if self._zygote:
            self._zygote.end()
        for pid in self.agents():
            os.kill(pid, signal.SIGKILL)

    # -- what is there ---------------------------------------------------------------------------

    def add_task(self, workspace: str, title: str, *directives: str, ready: bool = True) -> str:
        """Its id; `directives` script the agent of tests/fakes."""
        script = "agent:\n" + "\n".join(directives or (f'write "{title}.txt" done',))
        words = ["task", "add", title, "-w", workspace, "--description", "-"]
        done = self.good(*words, *(["--ready"] if ready else []), input=script.encode())
        return done.out.split()[0]

    def add_agent(self, name: str = "fixer") -> None:
        self.good("engine", "add", name, "--", *AGENT)

    def dump(self) -> str:
        """Every row of every table."""
        with sqlite3.connect(self.database) as connection:
            return "\n".join(connection.iterdump())

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.database, timeout=20) as connection:
            return connection.execute(query, values).fetchall()

    def batch_in(self, *statuses: str) -> str:
        """The id of a batch that has one of these states, else nothing."""
        marks = ",".join("?" * len(statuses))
        found = self.rows(f"SELECT id FROM batches_batch WHERE status IN ({marks})", *statuses)
        return str(found[0][0]) if found else ""

    def agents(self) -> list[int]:
        """Living processes of this site's runs, by the marker in their environment."""
        marker = b"CODEFRAME_RUN_DIR=" + os.fsencode(self.state.resolve())
        entries = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return [int(entry.name) for entry in entries if marker in _environ(entry)]


def _argv(words: tuple[str | bytes, ...]) -> list[str | bytes]:
    return [sys.executable, str(ROOT / "manage.py"), *words]


def _environ(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""
