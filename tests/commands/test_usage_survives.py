"""kill -9 of the worker, the supervisor and the agent while usage streams in: each call once."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.site import Site, wait_for
from tests.fakes.program import Program
from tests.faults.host import supervised, supervisors

pytestmark = pytest.mark.acceptance
CALLS = 24
RUN = (
    "runbatch",
    "-w",
    "shop",
    "--all-ready",
    "--engine",
    "claude",
    "--model",
    "claude-sonnet-4-5",
)


@pytest.fixture
def claude(tmp_path: Path) -> Program:
    """Prints one call after the other, slowly, and tells no total: each must come from its line."""
    program = Program(tmp_path, "claude")
    steps = [step for n in range(CALLS) for step in (program.says(_call(n)), "sleep 0.15")]
    end = json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "Done"})
    program.script("write tea.txt green", *steps, program.says([end.encode()]))
    return program


def _call(n: int) -> list[bytes]:
    usage = {"input_tokens": 1000 + n, "cache_read_input_tokens": 100, "output_tokens": 1}
    message = {"id": f"m{n}", "model": "claude-sonnet-4-5", "usage": usage}
    events = [
        {"type": "message_start", "message": message},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 10 + n},
        },
        {"type": "message_stop"},
    ]
    return [json.dumps({"type": "stream_event", "event": event}).encode() for event in events]


@pytest.fixture
def shop(tmp_path: Path, empty: bytes, repo: Path, claude: Program) -> Iterator[Site]:
    variables = {"CODEFRAME_CLAUDE": str(claude.path), "ANTHROPIC_API_KEY": "sk-x"}
    site = Site(tmp_path / "site", empty, **variables)
    site.good("workspace", "add", str(repo), "--no-gates")
    site.good("task", "add", "Brew", "-w", "shop", "--ready")
    yield site
    site.destroy()


def told(site: Site) -> int:
    return int(site.rows("SELECT count(*) FROM costs_usage")[0][0])


def sums(site: Site, attempt: int) -> tuple[int, int, int, int]:
    (row,) = site.rows(
        "SELECT count(*), sum(u.input_tokens), sum(u.cache_read_tokens), sum(u.output_tokens)"
        " FROM costs_usage u JOIN batches_run r ON r.id = u.run_id WHERE r.attempt = ?",
        attempt,
    )
    return row[0], row[1], row[2], row[3]


def of_calls(many: int) -> tuple[int, int, int, int]:
    """Rows, fresh input, cached input, output."""
    return (
        many,
        sum(1000 + n for n in range(many)),
        100 * many,
        sum(10 + n for n in range(many)),
    )


def spooled_calls(site: Site) -> int:
    """Of the first attempt, by what is on the disk."""
    run = site.rows("SELECT id FROM batches_run WHERE attempt = 1")[0][0]
    segments = sorted((site.state / "runs" / run / "agent" / "stdout").iterdir())
    return b"".join(path.read_bytes() for path in segments).count(b"message_stop")


def test_of_the_worker_twice(shop: Site) -> None:
    for after in (3, 9):
        worker = shop.start(*RUN)
        wait_for(lambda after=after: told(shop) >= after, f"{after} calls are charged")
        worker.kill()
    done = shop.run(*RUN)
    assert done.code == 0, done
    assert sums(shop, 1) == of_calls(CALLS)


def test_of_the_agent(shop: Site) -> None:
    worker = shop.start(*RUN)
    wait_for(lambda: told(shop) >= 3, "calls are charged")
    for pid in supervised(shop.state):
        os.kill(pid, signal.SIGKILL)
    assert worker.end().code == 0
    spooled = spooled_calls(shop)
    assert 3 <= spooled < CALLS
    assert sums(shop, 1)[:2] == of_calls(spooled)[:2]
    assert sums(shop, 2) == of_calls(CALLS)


def test_of_the_supervisor(shop: Site) -> None:
    worker = shop.start(*RUN)
    wait_for(lambda: told(shop) >= 3, "calls are charged")
    for pid in supervisors(shop.state):
        os.kill(pid, signal.SIGKILL)
    assert worker.end().code == 0
    spooled = spooled_calls(shop)
    assert 3 <= spooled < CALLS
    assert sums(shop, 1)[:2] == of_calls(spooled)[:2]
    assert sums(shop, 2) == of_calls(CALLS)
