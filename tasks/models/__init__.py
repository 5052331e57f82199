from tasks.models.audit import AuditEntry
from tasks.models.blocker import Blocker
from tasks.models.event import Event, EventCounter
from tasks.models.membership import Membership
from tasks.models.task import Task, TaskDependency
from tasks.models.workspace import Workspace

__all__ = [
    "AuditEntry",
    "Blocker",
    "Event",
    "EventCounter",
    "Membership",
    "Task",
    "TaskDependency",
    "Workspace",
]
