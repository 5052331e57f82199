"""What an import knows about one task before it becomes a row."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

from tasks.planning.importing.problems import quoted
from tasks.planning.importing.tree import Node

Uncertainty = Literal["low", "medium", "high"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDraft:
    """`parent` and `depends_on` are indexes into the list the draft came in."""

    title: str
    line: int
    key: str | None = None
    description: str = ""
    priority: int = 0
    estimated_hours: float | None = None
    complexity_score: int | None = None
    uncertainty_level: Uncertainty | None = None
    requirement_ids: tuple[str, ...] = ()
    github_issue_number: int | None = None
    external_url: str = ""
    expects_changes: bool = True
    done: bool = False
    parent: int | None = None
    depends_on: tuple[int, ...] = ()
    depends_on_known: tuple[Hashable, ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """A name in `depends_on`. In a `list_of_names` commas separate, unless a name has commas."""

    text: str
    line: int
    list_of_names: bool = False


@dataclass(slots=True)
class Entry:
    """One task as its file has it: fields not yet checked, references not yet resolved."""

    line: int
    members: dict[str, Node]
    parent: int | None = None
    starts_after: int | None = None
    references: list[Reference] = field(default_factory=list)

    @property
    def label(self) -> str:
        title = self.members.get("title")
        if title is None or not isinstance(title.value, str) or not title.value.strip():
            return "task"
        return f"task {quoted(title.value.strip())}"
