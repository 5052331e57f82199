"""Lines of agents as they were seen, in our own wording, and what a parser makes of them."""

import json
from collections.abc import Iterable
from pathlib import Path

from batches.engines import load
from batches.engines.base import EngineOutcome
from batches.engines.events import EngineEvent, Usage
from batches.engines.evidence import Evidence
from batches.engines.parsing import Parser
from batches.supervisor.record import Cause, ExitRecord
from costs.tokens import Tokens

FOLDER = Path(__file__).parent / "lines"
FILES = sorted(path.name for path in FOLDER.glob("*.jsonl"))
GOOD = [name for name in FILES if name.endswith("-ok.jsonl")]
MODEL = {
    "claude": "claude-sonnet-4-5",
    "codex": "gpt-5-codex",
    "opencode": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
    "builtin": "claude-sonnet-4-5",
}
TRUTH = {
    "claude": Tokens(input=36738, cache_read=22122, output=43),
    "codex": Tokens(input=12995, cache_read=7895, output=33, reasoning=10),
    "opencode": Tokens(input=9759, cache_read=5912, output=43),
    "gemini": Tokens(input=15465, cache_read=9357, output=33),
    "builtin": Tokens(input=950, cache_read=1300, cache_write=400, output=43),
}
"""What the provider was paid for in each `-ok` file."""


def engine_of(file: str) -> str:
    return file.partition("-")[0]


def lines_of(file: str) -> list[bytes]:
    return (FOLDER / file).read_bytes().splitlines()


def parser_of(file: str) -> Parser:
    kind = engine_of(file)
    parser = load(kind).parser({}, model=MODEL[kind])
    assert parser is not None
    return parser


def read_all(parser: Parser, lines: Iterable[bytes]) -> list[EngineEvent]:
    """The state goes through JSON at every line, as it does from one worker to the next."""
    events: list[EngineEvent] = []
    for at, line in enumerate(lines):
        events += parser.read(line, at) or ()
        parser.known = json.loads(json.dumps(parser.known))
    return [*events, *parser.finish()]


def spent(events: Iterable[EngineEvent]) -> Tokens:
    """Each call once, as the ledger counts."""
    total = Tokens()
    calls = {event.call_id: event.tokens for event in events if isinstance(event, Usage)}
    for tokens in calls.values():
        total = total.plus(tokens)
    return total


def outcome_of(file: str, events: Iterable[EngineEvent], code: int) -> EngineOutcome:
    evidence = Evidence()
    for event in events:
        evidence.note(event)
    record = ExitRecord(cause=Cause.EXITED, code=code)
    return load(engine_of(file)).outcome(record, b"", b"the last line\n", evidence)
