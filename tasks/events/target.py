"""What a stream shows: all of a workspace, or what concerns one batch, run or task in it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from tasks.events import types
from tasks.events.payloads import Line

COLUMNS = {"workspace": "", "batch": "batch_id", "run": "run_id", "task": "task_id"}
_ENDS: dict[str, Mapping[str, str]] = {
    "workspace": {},
    "batch": {**types.BATCH_ENDS, types.BATCH_RESUMED: ""},
    "run": types.RUN_ENDS,
    "task": {**types.RUN_ENDS, types.RUN_RETRY: "", types.RUN_STARTED: ""},
}
"""Kind -> event -> the status it ends with; empty: it goes on after all."""


@dataclass(frozen=True)
class Target:
    kind: str
    id: UUID
    workspace_id: UUID

    @property
    def column(self) -> str:
        return COLUMNS[self.kind]

    def concerns(self, line: Line) -> bool:
        return not self.column or getattr(line, self.column) == self.id

    def ending(self, lines: Iterable[Line]) -> str | None:
        """The status that the last of them leaves it with; None when they say nothing of it."""
        said, ends = None, _ENDS[self.kind]
        for line in lines:
            said = ends.get(line.type, said)
        return said
