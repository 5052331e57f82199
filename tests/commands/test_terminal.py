"""runbatch on a terminal: it draws while it runs, ends clean, and keeps to the terminal's width."""

import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.commands.site import PATIENCE_S, ROOT, Site, wait_for

pytestmark = pytest.mark.acceptance
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "os.execv(sys.argv[1], sys.argv[1:])"
)
READY = ("runbatch", "-w", "shop", "--engine", "fixer", "--all-ready")


class Terminal:
    """A command on a pseudo-terminal of so many columns; all it draws is kept."""

    def __init__(self, site: Site, *words: str, columns: int = 80) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = {k: v for k, v in site.environment.items() if k != "COLUMNS"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", OWN_TERMINAL, sys.executable, str(ROOT / "manage.py"), *words],
            env=environment | {"TERM": "xterm-256color"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._drawn = b""
        self._closing = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while not self._closing.is_set():
            if not select.select([self._master], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(self._master, 65536)
            except OSError:  # EIO: nobody has the other end open any more
                return
            if not data:
                return
            self._drawn += data

    @property
    def drawn(self) -> str:
        return self._drawn.decode(errors="replace")

    @property
    def text(self) -> str:
        return ESCAPE.sub("", self.drawn).replace("\r", "")

    def press_ctrl_c(self) -> None:
        os.write(self._master, b"\x03")

    def close_window(self) -> None:
        """The kernel sends SIGHUP, and whatever is drawn from now on fails."""
        self._closing.set()
        self._reader.join(PATIENCE_S)
        os.close(self._master)

    def end(self) -> int:
        code = self._process.wait(PATIENCE_S)
        if not self._closing.is_set():
            self._reader.join(PATIENCE_S)
            os.close(self._master)
        return code


def test_it_draws_while_it_runs_and_ends_clean(shop: Site, tmp_path: Path) -> None:
    shop.add_task("shop", "slow", "print thinking hard", f"wait-file {tmp_path}/go", "write a a")
    shop.add_task("shop", "bad", "exit 3")
    terminal = Terminal(shop, *READY)
    wait_for(lambda: "thinking hard" in terminal.text, "the agent's line is shown")
    wait_for(lambda: "1 of 2 ended, 1 running" in terminal.text, "the bar counts")
    assert terminal.drawn.count(HIDE) == 1
    assert SHOW not in terminal.drawn
    (tmp_path / "go").touch()
    assert terminal.end() == 1
    assert terminal.drawn.count(SHOW) == 1
    assert "✓ slow  completed" in terminal.text
    assert "✕ bad  failed" in terminal.text
    after = terminal.drawn[terminal.drawn.index(SHOW) :]
    assert "✓  slow" in after
    assert "━" not in after
    assert "PARTIAL" in after


def test_nothing_that_moves_is_wider_than_the_terminal(shop: Site) -> None:
    title = "A long title " * 30
    shop.add_task("shop", title.strip(), "print " + "word " * 100, "sleep 0.5", "exit 1")
    shop.add_task("shop", "日本語の題名" * 20, 'write "b.txt" b')
    terminal = Terminal(shop, *READY, columns=80)
    assert terminal.end() == 1
    moving, _, table = terminal.drawn.partition(SHOW)
    lines = ESCAPE.sub("", moving).replace("\r", "\n").split("\n")
    assert max(map(cell_len, lines)) <= 80
    wrapped = [line for line in lines if line.startswith("   ") and line.strip()]
    assert wrapped == []
    rows = [line for line in ESCAPE.sub("", table).splitlines() if line.startswith(("✓", "✕"))]
    assert len(rows) == 2
    assert max(map(cell_len, rows)) <= 80


def test_ctrl_c_cancels_and_gives_the_cursor_back(shop: Site, tmp_path: Path) -> None:
    shop.add_task("shop", "slow", f"touch {tmp_path}/at", "sleep 300")
    terminal = Terminal(shop, *READY)
    wait_for((tmp_path / "at").exists, "the agent is at work")
    terminal.press_ctrl_c()
    assert terminal.end() == 130
    assert "cancel requested: interrupted by SIGINT" in terminal.text
    assert terminal.drawn.count(SHOW) == 1
    assert "Traceback" not in terminal.text


def test_follow_counts_each_task_once(shop: Site, tmp_path: Path) -> None:
    shop.add_task("shop", "one", "write a a")
    shop.add_task("shop", "two", f"wait-file {tmp_path}/go", "write b b")
    running = shop.start(*READY)
    wait_for(lambda: "one: COMPLETED" in running.out, "the first is done")
    terminal = Terminal(shop, "batch", "follow", shop.batch_in("RUNNING"))
    wait_for(lambda: "1 of 2 ended, 1 running" in terminal.text, "follow has caught up")
    assert "2 of 2" not in terminal.text
    (tmp_path / "go").touch()
    assert terminal.end() == 0
    assert running.end().code == 0


def test_ctrl_c_leaves_follow_and_not_the_batch(shop: Site, tmp_path: Path) -> None:
    shop.add_task("shop", "slow", f"touch {tmp_path}/at", f"wait-file {tmp_path}/go", "write a a")
    running = shop.start(*READY)
    wait_for((tmp_path / "at").exists, "the agent is at work")
    terminal = Terminal(shop, "batch", "follow", shop.batch_in("RUNNING"))
    wait_for(lambda: "1 running" in terminal.text, "follow draws")
    terminal.press_ctrl_c()
    assert terminal.end() == 130
    assert "Traceback" not in terminal.text
    assert terminal.drawn.count(SHOW) == 1
    (tmp_path / "go").touch()
    assert running.end().code == 0


def test_a_closed_window_cancels_and_keeps_the_work(shop: Site, tmp_path: Path) -> None:
    shop.add_task("shop", "slow", "write half h", f"touch {tmp_path}/at", "sleep 300")
    terminal = Terminal(shop, *READY)
    wait_for((tmp_path / "at").exists, "the agent is at work")
    terminal.close_window()
    assert terminal.end() == 130
    assert shop.rows("SELECT status, files_changed FROM batches_run") == [("CANCELLED", 1)]
