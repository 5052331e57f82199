"""Which tasks of a workspace a page shows, as its address says."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.http import QueryDict

from tasks.models import Task
from tasks.models.task import TaskStatus
from tasks.text import storable

MAX_WORDS = 200
VIEWS = ("board", "list")
SORTS = {
    "priority": ("Priority", ("priority", "created_at", "id")),
    "-updated": ("Last changed", ("-updated_at", "id")),
    "-created": ("Newest", ("-created_at", "id")),
    "title": ("Title", ("title", "id")),
}


@dataclass(frozen=True, kw_only=True)
class TaskFilter:
    """What makes no sense in an address is left out, never an error."""

    words: str = ""
    statuses: tuple[TaskStatus, ...] = ()
    sort: str = "priority"
    view: str = "board"

    @classmethod
    def read(cls, query: QueryDict) -> "TaskFilter":
        named = {text.upper() for text in query.getlist("status")}
        statuses = tuple(status for status in TaskStatus if status in named)
        view, sort = query.get("view", ""), query.get("sort", "")
        return cls(
            words=storable(query.get("q", "").strip()[:MAX_WORDS]),
            statuses=statuses,
            sort=sort if sort in SORTS else "priority",
            view=view if view in VIEWS else "list" if statuses else "board",
        )

    @property
    def narrows(self) -> bool:
        return bool(self.words or self.statuses)

    @property
    def order(self) -> tuple[str, ...]:
        return SORTS[self.sort][1]

    def address(self) -> str:
        """The same tasks again, as a query."""
        pairs = [("view", self.view), ("q", self.words), ("sort", self.sort)]
        pairs += [("status", status) for status in self.statuses]
        return urlencode([(name, value) for name, value in pairs if value])

    def apply(self, rows: QuerySet[Task]) -> QuerySet[Task]:
        """All but the states, which a board has its columns for."""
        if self.words:
            rows = rows.filter(
                Q(title__icontains=self.words)
                | Q(key__icontains=self.words)
                | Q(hierarchical_id__istartswith=self.words)
            )
        return rows
