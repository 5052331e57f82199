"""An agent's output while it comes: what it says into events, what it used into the ledger.

How far it was read, what its parser knows and what it has said so far are columns of the run and
change in the same transaction as events and charges: whoever goes on after a crash reads from
there, so nothing is lost and nothing counted twice.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from django.utils import timezone

from batches.agent_items import Item, item_of, plain_item
from batches.charging import call_of, summary
from batches.context import RunContext
from batches.engines import evidence as evidences
from batches.engines.base import Engine
from batches.engines.events import EngineEvent, Usage
from batches.engines.lines import Line, Lines
from batches.engines.parsing import Parser
from batches.output import FLUSH_SECONDS, OutputRecorder
from batches.persist import persist
from batches.supervisor.client import Chunk
from costs.calls import Call
from costs.pricing import price_calls
from tasks.events import types
from tasks.text import clip

ITEMS = 200
TEXT_CHARS = 32 * 1024
"""Most that one event carries; beyond it only the spool has all."""
PARSED = "stdout"


class AgentOutput:
    """Feed it chunks and call `tick` now and then; `finish` when the agent has ended."""

    def __init__(
        self,
        context: RunContext,
        *,
        engine: Engine,
        carried: dict[str, Any],
        recorded: dict[str, int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`recorded` is where the events of plain output end, by stream."""
        self._context = context
        self._engine = engine
        self._clock = clock
        self._plain = OutputRecorder(context, clock=clock)
        self._recorded = recorded
        kept = context.run.agent_state
        self.evidence = evidences.from_json(kept.get("evidence") or {})
        self._parser = _parser(context, engine, kept.get("parser") or carried)
        self._lines = Lines(int(kept.get("offset") or 0))
        self._items: list[Item] = []
        self._left_out = 0
        self._chars = 0
        self._calls: list[Call] = []
        self._said_from = self._counted = self._lines.offset
        self._flushed = clock()

    def offsets(self) -> dict[str, int]:
        """Where to read on: what one of the two readers has had already it leaves out."""
        starts = dict(self._recorded)
        if self._parser is not None:
            plain = starts.get(PARSED, 0) if self._engine.readable else self._lines.offset
            starts[PARSED] = min(plain, self._lines.offset)
        return starts

    def feed(self, chunk: Chunk) -> None:
        if chunk.stream == PARSED and self._parser is not None:
            gaps = self._lines.gaps
            lines = self._lines.feed(chunk.offset, chunk.data)
            if self._lines.gaps > gaps:
                self._parser.gap()
            self._read(lines)
        if chunk.stream != PARSED or self._engine.readable:
            self._record(chunk)
        self.tick()

    def tick(self) -> None:
        if self._clock() - self._flushed >= FLUSH_SECONDS:
            self._flush()
        self._plain.tick()

    def finish(self) -> None:
        if self._parser is not None:
            self._read(self._lines.rest())
            for event in self._parser.finish():
                self._note(event)
            self._context.save_later(**self._columns())
        self._flush()
        self._plain.flush()

    # -- inside ----------------------------------------------------------------------------------

    def _record(self, chunk: Chunk) -> None:
        known = self._recorded.get(chunk.stream, 0)
        fresh = chunk.data[max(0, known - chunk.offset) :]
        if fresh or chunk.cut:
            self._plain.feed(chunk.stream, chunk.end - len(fresh), fresh, chunk.cut)

    def _read(self, lines: Sequence[Line]) -> None:
        assert self._parser is not None
        for start, line in lines:
            events = self._parser.read(line, start)
            if events is None and not self._engine.readable:
                self._add(plain_item(line))
            for event in events or ():
                self._note(event)

    def _note(self, event: EngineEvent) -> None:
        self.evidence.note(event)
        if isinstance(event, Usage):
            self._charge(event)
        elif not self._engine.readable:
            self._add(item_of(event))

    def _charge(self, usage: Usage) -> None:
        provider = self._engine.provider_of(self._context.batch.model)
        self._calls.append(
            call_of(usage, agent=self._context.batch.engine, provider=provider, at=timezone.now())
        )

    def _add(self, item: Item | None) -> None:
        if item is None:
            return
        self._chars += len(item["text"])
        if len(self._items) >= ITEMS or self._chars > TEXT_CHARS:
            self._left_out += 1
        else:
            self._items.append(item)

    def _flush(self) -> None:
        self._flushed = self._clock()
        if not self._items and not self._calls:
            return
        self._context.save_later(**self._columns())
        if self._calls:
            charges = persist(lambda: price_calls(self._calls))
            self._context.charge_later(charges)
            self._context.say_later(types.RUN_USAGE, summary(charges))
        if self._items:
            self._context.say_later(types.RUN_OUTPUT, self._payload())
        self._context.flush()
        self._items, self._calls = [], []
        self._left_out = self._chars = 0
        self._said_from = self._lines.offset

    def _payload(self) -> dict[str, Any]:
        text = "".join(f"{item['text']}\n" for item in self._items)
        payload = {"stream": PARSED, "offset": self._said_from, "end": self._lines.offset}
        payload |= {"text": text, "items": self._items}
        return payload | ({"left_out": self._left_out} if self._left_out else {})

    def _columns(self) -> dict[str, Any]:
        assert self._parser is not None
        state = {"offset": self._lines.offset, "parser": self._parser.known}
        columns: dict[str, Any] = {"agent_state": state | {"evidence": self.evidence.as_json()}}
        if self.evidence.session_id:
            columns["session_id"] = clip(self.evidence.session_id, 200)
        if not self._engine.readable:
            grown = self._lines.offset - self._counted
            self._counted = self._lines.offset
            columns["output_bytes"] = self._context.run.output_bytes + grown
            columns["last_output_at"] = timezone.now()
        if self._items:
            shown = self._items[-1]["text"].strip().splitlines()
            columns["last_line"] = clip(shown[-1].strip(), 200) if shown else ""
        return columns


def _parser(context: RunContext, engine: Engine, state: dict[str, Any]) -> Parser | None:
    return engine.parser(context.batch.engine_options, model=context.batch.model, state=state)
