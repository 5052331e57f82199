import uuid

from django.db import models
from django.db.models import F, Q

from tasks.models.workspace import Workspace

MAX_TITLE = 500
MAX_DESCRIPTION = 200_000


class TaskStatus(models.TextChoices):
    BACKLOG = "BACKLOG", "Backlog"
    READY = "READY", "Ready"
    IN_PROGRESS = "IN_PROGRESS", "In progress"
    BLOCKED = "BLOCKED", "Blocked"
    FAILED = "FAILED", "Failed"
    DONE = "DONE", "Done"
    MERGED = "MERGED", "Merged"


TASK_TRANSITIONS: dict[TaskStatus, frozenset[TaskStatus]] = {
    TaskStatus.BACKLOG: frozenset({TaskStatus.READY}),
    TaskStatus.READY: frozenset({TaskStatus.IN_PROGRESS, TaskStatus.BACKLOG}),
    TaskStatus.IN_PROGRESS: frozenset(
        {TaskStatus.BLOCKED, TaskStatus.DONE, TaskStatus.READY, TaskStatus.FAILED}
    ),
    TaskStatus.BLOCKED: frozenset({TaskStatus.IN_PROGRESS, TaskStatus.READY}),
    TaskStatus.FAILED: frozenset({TaskStatus.READY, TaskStatus.IN_PROGRESS}),
    TaskStatus.DONE: frozenset({TaskStatus.READY, TaskStatus.MERGED}),
    TaskStatus.MERGED: frozenset(),
}
"""From -> allowed to; only tasks/lifecycle.py moves a task, docs/states.md shows the table."""

FINISHED = frozenset({TaskStatus.DONE, TaskStatus.MERGED})


class Uncertainty(models.TextChoices):
    LOW = "low", "Low"
    MEDIUM = "medium", "Medium"
    HIGH = "high", "High"


class Task(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="tasks")
    key = models.CharField(
        max_length=200, blank=True, help_text="Stable name from a tasks file, unique if given"
    )
    title = models.CharField(max_length=MAX_TITLE)
    description = models.TextField(blank=True)
    status = models.CharField(
        max_length=12, choices=TaskStatus.choices, default=TaskStatus.BACKLOG, editable=False
    )
    priority = models.PositiveIntegerField(default=0, help_text="0 is the highest")
    estimated_hours = models.FloatField(null=True, blank=True)
    complexity_score = models.PositiveSmallIntegerField(null=True, blank=True, help_text="1 to 5")
    uncertainty_level = models.CharField(max_length=6, choices=Uncertainty.choices, blank=True)
    expects_changes = models.BooleanField(
        default=True, help_text="Off: a run that changes no file may still complete"
    )
    requirement_ids = models.JSONField(default=list, blank=True)
    github_issue_number = models.PositiveIntegerField(null=True, blank=True)
    external_url = models.CharField(max_length=2000, blank=True)
    auto_close_github_issue = models.BooleanField(default=False)
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="children"
    )
    lineage = models.JSONField(default=list, blank=True, help_text="Descriptions of the ancestors")
    is_leaf = models.BooleanField(default=True, help_text="Composite tasks are never run")
    hierarchical_id = models.CharField(max_length=100, blank=True, help_text="For example 1.2.3")
    depends_on = models.ManyToManyField(
        "self", through="TaskDependency", symmetrical=False, related_name="dependents"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["priority", "created_at", "id"]
        indexes = [models.Index(fields=["workspace", "status", "priority", "created_at"])]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "key"], condition=~Q(key=""), name="task_key_unique"
            ),
            models.CheckConstraint(
                condition=Q(status__in=TaskStatus.values), name="task_status_known"
            ),
            models.CheckConstraint(condition=~Q(title=""), name="task_title_not_empty"),
            models.CheckConstraint(
                condition=Q(complexity_score__isnull=True) | Q(complexity_score__range=(1, 5)),
                name="task_complexity_1_to_5",
            ),
            models.CheckConstraint(
                condition=Q(estimated_hours__isnull=True) | Q(estimated_hours__gte=0),
                name="task_estimate_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(uncertainty_level__in=["", *Uncertainty.values]),
                name="task_uncertainty_known",
            ),
            models.CheckConstraint(
                condition=Q(parent__isnull=True) | ~Q(parent=F("id")), name="task_not_own_parent"
            ),
        ]

    def __str__(self) -> str:
        return self.title


class TaskDependency(models.Model):
    """`task` starts only after `depends_on` completed; edges proposed by a model are kept apart."""

    class Origin(models.TextChoices):
        MANUAL = "manual", "Manual"
        MODEL = "model", "Proposed by a model"

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="dependency_edges")
    depends_on = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="dependent_edges")
    origin = models.CharField(max_length=6, choices=Origin.choices, default=Origin.MANUAL)

    class Meta:
        verbose_name_plural = "task dependencies"
        constraints = [
            models.UniqueConstraint(fields=["task", "depends_on"], name="dependency_once"),
            models.CheckConstraint(
                condition=~Q(task=F("depends_on")), name="dependency_not_on_itself"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task_id} after {self.depends_on_id}"
