"""What can be wrong with a batch, each with one sentence and a code."""

from typing import TYPE_CHECKING, ClassVar

from tasks.errors import DomainError

if TYPE_CHECKING:
    from batches.models import Batch


class WorkspaceBusy(DomainError):
    code: ClassVar[str] = "CONFLICT"
    title = "A batch is already running in this workspace"

    def __init__(self, batch: "Batch") -> None:
        super().__init__(
            f"batch {batch.short_id} is {batch.status} in this workspace; wait for it to finish, "
            "or cancel it"
        )
        self.batch = batch


class InvalidState(DomainError):
    code: ClassVar[str] = "INVALID_STATE"


class InvalidOptions(DomainError):
    code: ClassVar[str] = "VALIDATION_ERROR"


class InvalidTasks(DomainError):
    """Ids that are unknown, finished, composite, blocked or wait for something outside."""

    code: ClassVar[str] = "INVALID_TASK_IDS"


class NothingToRun(DomainError):
    code: ClassVar[str] = "INVALID_REQUEST"
    title = "No tasks to execute"


class Fenced(Exception):
    """Another owner took the batch over: write nothing, let go of what you follow, leave."""
