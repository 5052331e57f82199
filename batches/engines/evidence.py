"""What of all that an agent said decides how its run ended; small, and kept with the run."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from batches.engines.events import (
    Denied,
    Ended,
    EngineEvent,
    FileChange,
    Limit,
    Message,
    Question,
    Session,
    ToolCall,
    Trouble,
)

DENIALS_KEPT = 20
MOST_CHARS = 4000


@dataclass(kw_only=True, slots=True)
class Evidence:
    """`ended_ok` is None until the engine said its last word; `trouble_*` is the newest error."""

    session_id: str = ""
    model: str = ""
    at_work: bool = False
    ended_ok: bool | None = None
    ended_text: str = ""
    trouble_text: str = ""
    trouble_status: int | None = None
    trouble_server: bool = False
    retry_after_s: float | None = None
    resets_at: float | None = None
    question: str = ""
    denials: list[str] = field(default_factory=list)
    denied: int = 0

    def note(self, event: EngineEvent) -> None:
        match event:
            case Session():
                self.session_id = event.session_id
                self.model = event.model or self.model
            case Message():
                self.at_work = True
            case ToolCall() | FileChange():
                self.at_work = True
                self.question = ""  # it went on without the answer
            case Question():
                self.question = event.text[:MOST_CHARS]
            case Denied():
                self._deny(event)
            case Trouble() | Limit():
                self._trouble(event)
            case Ended():
                self.ended_ok, self.ended_text = event.ok, event.text[:MOST_CHARS]

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in (None, "", [])}

    def _deny(self, event: Denied) -> None:
        self.denied += 1
        if len(self.denials) < DENIALS_KEPT:
            self.denials.append(f"{event.tool}: {event.detail}"[:500].rstrip(": "))

    def _trouble(self, event: Trouble | Limit) -> None:
        status = event.status if isinstance(event, Trouble) else 429
        if status != self.trouble_status:
            self.retry_after_s = self.resets_at = None
        self.trouble_text, self.trouble_status = event.text[:MOST_CHARS], status
        self.trouble_server = isinstance(event, Trouble) and event.server
        self.retry_after_s = event.retry_after_s or self.retry_after_s
        if isinstance(event, Limit):
            self.resets_at = event.resets_at or self.resets_at


def from_json(note: Mapping[str, Any]) -> Evidence:
    return Evidence(**{name: note[name] for name in Evidence.__dataclass_fields__ if name in note})
