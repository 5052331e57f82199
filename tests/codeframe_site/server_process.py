"""`manage.py web` as a child process, and waiting for what it does."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 120


def eventually(what: Callable[[], object], meaning: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s: {meaning}"
        time.sleep(0.02)


def environment(state: Path, **more: str) -> dict[str, str]:
    """Nothing of the test's own settings but the PATH."""
    ours = {"PATH": os.environ["PATH"], "HOME": str(state), "CODEFRAME_STATE_DIR": str(state)}
    return ours | {"PYTHONDONTWRITEBYTECODE": "1"} | more


def manage(state: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=environment(state, **more),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


class Web:
    def __init__(self, state: Path, *words: str, **more: str) -> None:
        self.said: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", "web", "--port", "0", *words],
            cwd=ROOT,
            env=environment(state, **more),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        eventually(self._ready, "the server says where it is")

    @property
    def output(self) -> str:
        return "".join(self.said)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def port(self) -> int:
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", self.output)
        assert found, self.output
        return int(found[1])

    def tell(self, number: signal.Signals = signal.SIGTERM) -> None:
        self._process.send_signal(number)

    def wait(self) -> int:
        code = self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        return code

    def kill(self) -> None:
        self._process.kill()
        self.wait()

    def _read(self) -> None:
        assert self._process.stdout
        self.said.extend(self._process.stdout)

    def _ready(self) -> bool:
        assert self._process.poll() is None, self.output
        return "http://127.0.0.1:" in self.output


@contextmanager
def web(state: Path, *words: str, **more: str) -> Iterator[Web]:
    server = Web(state, *words, **more)
    try:
        yield server
    finally:
        server.kill()
