"""The built-in agent as the product runs it: its engine, under the real supervisor."""

import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from batches.engines.base import EngineOutcome, EngineRequest
from batches.engines.builtin.engine import BuiltinEngine
from batches.engines.events import EngineEvent, Usage
from batches.engines.evidence import Evidence
from batches.supervisor import client, spool
from batches.supervisor.record import ExitRecord, LaunchSpec
from costs.tokens import Tokens
from tests.fakes import model_server as fake

KEY = "sk-secret-of-the-test"
Should = Callable[[], client.StopRequest | None]


@dataclass
class Ran:
    record: ExitRecord
    outcome: EngineOutcome
    lines: list[dict[str, Any]]
    events: list[EngineEvent]
    evidence: Evidence
    stderr: bytes

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["type"] == kind]

    @property
    def tokens(self) -> Tokens:
        total = Tokens()
        for event in self.events:
            if isinstance(event, Usage):
                total = total.plus(event.tokens)
        return total

    @property
    def dollars(self) -> Decimal:
        return sum(
            (e.reported_usd or Decimal(0) for e in self.events if isinstance(e, Usage)), Decimal(0)
        )

    @property
    def last_word(self) -> str:
        """Why it ended, by its own last line."""
        reason: str = self.lines[-1]["reason"]
        return reason


@dataclass
class Place:
    """A tree and a home that stay from one run to the next."""

    folder: Path
    options: Mapping[str, Any] = field(default_factory=dict)
    model: str = "claude-test"
    runs: int = 0

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    def request(self, url: str, prompt: str, session_id: str = "", **options: Any) -> EngineRequest:
        self.runs += 1
        run_dir = self.folder / f"run-{self.runs}"
        for path in (self.tree, run_dir):
            path.mkdir(exist_ok=True)
        prompt_file = self.folder / "prompt.md"
        prompt_file.write_text(prompt)
        provider = options.get("provider") or self.options.get("provider") or "anthropic"
        base_url = url + ("/v1" if provider == "openai" else "")
        chosen = {"provider": provider, "base_url": base_url, "key_name": "TEST_KEY", "retries": 2}
        return EngineRequest(
            prompt_file=prompt_file,
            tree=self.tree,
            home=self.folder / "home",
            run_dir=run_dir,
            task_id="1",
            run_id="2",
            batch_id="3",
            model=self.model,
            session_id=session_id,
            options={**chosen, **self.options, **options},
        )

    def run(
        self,
        server: fake.ModelServer,
        prompt: str = "Do it",
        *,
        should_stop: Should = lambda: None,
        session_id: str = "",
        **options: Any,
    ) -> Ran:
        request = self.request(server.url, prompt, session_id, **options)
        return follow(request, should_stop)


def follow(request: EngineRequest, should_stop: Should = lambda: None, **limits: Any) -> Ran:
    launch = BuiltinEngine().prepare(request)
    spec = LaunchSpec(
        argv=launch.argv,
        cwd=str(request.tree),
        env=dict(launch.env),
        **{"deadline_s": 60, "silence_s": 30, "grace_s": 5, **limits},
        stop_signal=launch.stop_signal,
        spool_bytes=8 * 1024 * 1024,
        orphan_s=60,
    )
    record = client.run_to_end(request.run_dir, spec, should_stop=should_stop)
    return judged(request, record)


def judged(request: EngineRequest, record: ExitRecord) -> Ran:
    """From the spool alone, as a later owner would."""
    engine = BuiltinEngine()
    tails = [spool.tail(request.run_dir, name, 8 * 1024 * 1024).data for name in spool_names()]
    parser, evidence = engine.parser(request.options), Evidence()
    events: list[EngineEvent] = []
    for line in tails[0].split(b"\n"):
        for event in parser.read(line) or ():
            evidence.note(event)
            events.append(event)
    lines = [json.loads(line) for line in tails[0].split(b"\n") if line.endswith(b"}")]
    outcome = engine.outcome(record, tails[0], tails[1], evidence)
    return Ran(record, outcome, lines, events, evidence, tails[1])


def spool_names() -> tuple[str, str]:
    return ("stdout", "stderr")


def told(server: fake.ModelServer) -> Tokens:
    """What the provider says it counted, in our words."""
    usage = server.told
    names = ("input", "cache_read", "cache_write", "output", "reasoning")
    return Tokens(**{name: getattr(usage, name) for name in names})


def stop_when(condition: Callable[[], object]) -> Should:
    return lambda: client.StopRequest(reason="test") if condition() else None


def agent_pid(run_dir: Path) -> int | None:
    """Of the agent itself, which has the run's folder in its environment and our program's name."""
    marker = b"agent.py\0"
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if marker in command and os.fsencode(str(run_dir.parent)) in command:
            return int(entry.name)
    return None


def held_turn(**extra: Any) -> tuple[fake.Turn, threading.Event]:
    """A turn whose answer stops half-way until the event is set."""
    hold = threading.Event()
    return fake.Turn("A long story that is told slowly", hold=hold, **extra), hold
