"""Who may open which stream: asked of a door that the site puts in, for it knows users and rows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from tasks.events.target import Target


@dataclass(frozen=True, kw_only=True)
class Asked:
    """As it came: header names in lower case, query texts decoded."""

    kind: str
    id: UUID
    headers: Mapping[str, str]
    query: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Admission:
    """`ended` is the status of a target that was over by `settled`, else empty."""

    target: Target
    user_id: int
    cursor: int
    settled: int
    ended: str
    grant: Any


class Refused(Exception):
    """`status` is HTTP's; a WebSocket is closed with the same and 4000."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Door(Protocol):
    """Its calls read the database, so they are made on the streams' own threads."""

    def admit(self, asked: Asked) -> Admission:
        """Raises Refused."""
        ...

    def lost(self, admissions: Iterable[Admission]) -> dict[Admission, int]:
        """Those that would not be let in any more, each with the status of the refusal."""
        ...

    def body(self, refused: Refused) -> bytes:
        """The refusal as JSON."""
        ...
