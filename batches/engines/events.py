"""What agents say, in the same words for every engine."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import ClassVar

from costs.tokens import Tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    kind: ClassVar[str] = "message"
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    kind: ClassVar[str] = "tool_call"
    call_id: str
    name: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    kind: ClassVar[str] = "tool_result"
    call_id: str
    ok: bool
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileChange:
    kind: ClassVar[str] = "file_change"
    path: str
    change: str = "edit"


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Of one call, or of what was not told call by call; `calls` 0 only settles earlier ones.

    `settles`: with it all that was told of `model` before is exact, and `reported_usd` covers it.
    """

    kind: ClassVar[str] = "usage"
    call_id: str
    model: str
    tokens: Tokens = field(default_factory=Tokens)
    reported_usd: Decimal | None = None
    estimated: bool = False
    settles: bool = False
    calls: int = 1
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    kind: ClassVar[str] = "session"
    session_id: str
    model: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """Asked by a tool for questions, which nobody answered."""

    kind: ClassVar[str] = "question"
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Denied:
    kind: ClassVar[str] = "denied"
    tool: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """The provider asks to come later; `resets_at` in epoch seconds."""

    kind: ClassVar[str] = "limit"
    text: str
    retry_after_s: float | None = None
    resets_at: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Trouble:
    """An error of the provider or the program; `status` is HTTP's, `server` that a retry helps."""

    kind: ClassVar[str] = "error"
    text: str
    status: int | None = None
    server: bool = False
    retry_after_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """The engine's own last word."""

    kind: ClassVar[str] = "end"
    ok: bool
    text: str = ""


EngineEvent = (
    Message
    | ToolCall
    | ToolResult
    | FileChange
    | Usage
    | Session
    | Question
    | Denied
    | Limit
    | Trouble
    | Ended
)
