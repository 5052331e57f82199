"""Ask the model, do what it calls for, tell it; until it is done or something ends it."""

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from batches.engines.builtin.budget import Budget, LimitReached
from batches.engines.builtin.compaction import compact
from batches.engines.builtin.conversation import (
    Answer,
    Call,
    Reply,
    Result,
    Results,
    User,
    size,
    unanswered,
)
from batches.engines.builtin.errors import Ending, ProviderError
from batches.engines.builtin.instructions import (
    ASKED,
    CIRCLE,
    CUT_SHORT,
    EMPTY,
    NEVER_RAN,
    NOT_YET,
    SYSTEM,
)
from batches.engines.builtin.output import Output
from batches.engines.builtin.providers import Provider
from batches.engines.builtin.providers.broken import Broken
from batches.engines.builtin.repetition import STOP_AT, WARN_AT, Repetition
from batches.engines.builtin.retries import Retries
from batches.engines.builtin.session import Session
from batches.engines.builtin.tools.schemas import Schema, is_known
from batches.engines.builtin.tools.text import head_and_tail
from batches.engines.builtin.tools.toolbox import Outcome, Question, Toolbox
from costs.tokens import Tokens

COMPACT_AT = 0.85
AFTER_REFUSAL = 0.5
TOKENS_PER_CHARACTER = 0.3
"""A guess, until the provider's first count."""
NUDGES = 2
SHOWN = 2_000


@dataclass
class Loop:
    """`context_tokens` is what the model can hold."""

    session: Session
    provider: Provider
    toolbox: Toolbox
    tools: Sequence[Schema]
    budget: Budget
    output: Output
    retries: Retries
    context_tokens: int
    output_tokens: int
    clock: Callable[[], float] = time.monotonic
    _repetition: Repetition = field(default_factory=Repetition)
    _ratio: float = TOKENS_PER_CHARACTER
    _nudges: int = 0

    def start(self, prompt: str) -> None:
        """Calls that were under way when the process died get a result; each must have one."""
        calls = unanswered(self.session.entries)
        if calls:
            self.session.add(Results(tuple(Result(call.id, NEVER_RAN, ok=False) for call in calls)))
        self.session.add(User(prompt))

    def run(self) -> str:
        """The model's last words. Raises Ending."""
        while True:
            self._check_budget()
            answer = self._ask()
            self.session.add(answer.reply)
            self._say(answer)
            if answer.stop == "refusal":
                raise Ending("refusal", answer.reply.text)
            if answer.reply.calls:
                self._use_tools(answer.reply)
            elif self._is_done(answer):
                return answer.reply.text

    def _check_budget(self) -> None:
        try:
            self.budget.check()
        except LimitReached as limit:
            self.output.say("limit", kind=limit.kind, text=str(limit))
            raise Ending(limit.kind, str(limit)) from limit

    def _ask(self) -> Answer:
        self._fit(COMPACT_AT)
        self.budget.turns += 1
        try:
            return self.retries.run(self._request)
        except ProviderError as error:
            if error.kind != "context" or not self._fit(AFTER_REFUSAL, always=True):
                raise
            return self.retries.run(self._request)

    def _request(self) -> Answer:
        request_id = uuid.uuid4().hex
        asked = size(self.session.entries) + len(SYSTEM)
        try:
            answer = self.provider.ask(
                system=SYSTEM,
                entries=self.session.entries,
                tools=self.tools,
                most_output=self.budget.most_output(self.output_tokens),
                heard=self._heard,
            )
        except Broken as broken:
            tokens, model = broken.tokens, broken.model
            self._count(request_id, tokens, model, broken.provider_id, estimated=True)
            raise
        finally:
            self.output.drop_delta()
        tokens = answer.tokens
        self._count(
            request_id, tokens, answer.model, answer.provider_id, estimated=answer.estimated
        )
        taken_in = tokens.input + tokens.cache_read + tokens.cache_write
        if taken_in and not answer.estimated:
            self._ratio = taken_in / asked
        return answer

    def _heard(self, text: str) -> None:
        if text:
            self.output.delta(text)
        else:
            self.output.alive("the model is at work")

    def _count(
        self, request_id: str, tokens: Tokens, model: str, provider_id: str, *, estimated: bool
    ) -> None:
        """At once: what is not told when the process dies is lost."""
        dollars = self.budget.add(tokens)
        self.output.say(
            "usage",
            id=request_id,
            provider_id=provider_id,
            model=model,
            **{name: getattr(tokens, name) for name in TOKEN_NAMES},
            dollars=None if dollars is None else f"{dollars:f}",
            estimated=estimated,
        )

    def _fit(self, share: float, *, always: bool = False) -> bool:
        """True when the conversation became shorter."""
        room = self.context_tokens * share - self.output_tokens
        most = max(1, int(max(room, self.context_tokens * 0.25) / self._ratio))
        before = size(self.session.entries)
        if always:
            most = min(most, before // 2)
        if before <= most:
            return False
        self.session.replace(compact(self.session.entries, most))
        after = size(self.session.entries)
        self.output.say("compacted", characters_before=before, characters_after=after)
        return after < before

    def _say(self, answer: Answer) -> None:
        if answer.reply.text.strip():
            self.output.say("message", text=answer.reply.text)

    def _is_done(self, answer: Answer) -> bool:
        """An answer that was cut short or says nothing is no end; the model is told so, twice."""
        cut_short = answer.stop == "length"
        if not cut_short and answer.reply.text.strip():
            return True
        self._nudges += 1
        if self._nudges > NUDGES:
            raise Ending("length" if cut_short else "empty")
        self.session.add(User(CUT_SHORT if cut_short else EMPTY))
        return False

    def _use_tools(self, reply: Reply) -> None:
        """Raises Ending for a question and for a circle."""
        results: list[Result] = []
        rounds = 1
        self._nudges = 0
        for place, call in enumerate(reply.calls):
            try:
                outcome = self._use(call)
            except Question as question:
                left = [Result(other.id, NOT_YET, ok=False) for other in reply.calls[place + 1 :]]
                self.session.add(Results((*results, Result(call.id, ASKED), *left)))
                raise Ending("question", question.text) from question
            circle = self._repetition.add(call, outcome.text)
            rounds = max(rounds, circle)
            warning = CIRCLE.format(rounds=circle) if circle >= WARN_AT else ""
            results.append(Result(call.id, outcome.text + warning, outcome.ok))
        self.session.add(Results(tuple(results)))
        if rounds >= STOP_AT:
            said = f"The agent made the same calls {rounds} times with the same results."
            raise Ending("loop", said)

    def _use(self, call: Call) -> Outcome:
        self.output.say(
            "tool_call", id=call.id, name=call.name, arguments=head_and_tail(call.arguments, SHOWN)
        )
        begun = self.clock()
        try:
            outcome = self._allowed(call) or self.toolbox.use(call)
        except Question as question:
            self.output.say("question", id=call.id, text=question.text)
            raise
        self.output.say(
            "tool_result",
            id=call.id,
            name=call.name,
            ok=outcome.ok,
            text=head_and_tail(outcome.text, SHOWN),
            seconds=round(self.clock() - begun, 3),
        )
        for path, change in (outcome.changed or {}).items():
            self.output.say("file_change", path=path, change=change)
        return Outcome(self.output.redact(outcome.text), outcome.ok)

    def _allowed(self, call: Call) -> Outcome | None:
        """None when it is."""
        if not is_known(call.name) or any(tool["name"] == call.name for tool in self.tools):
            return None
        detail = head_and_tail(call.arguments, SHOWN)
        self.output.say("denied", name=call.name, arguments=detail)
        return Outcome(f"{call.name} is not allowed here.", ok=False)


TOKEN_NAMES = ("input", "cache_read", "cache_write", "output", "reasoning")
