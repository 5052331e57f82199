import uuid

from django.db import models
from django.db.models import Q

from batches.models.batch import Batch, Verification
from tasks.models import Task


class RunStatus(models.TextChoices):
    QUEUED = "QUEUED", "Queued"
    RUNNING = "RUNNING", "Running"
    COMPLETED = "COMPLETED", "Completed"
    FAILED = "FAILED", "Failed"
    BLOCKED = "BLOCKED", "Blocked"
    CANCELLED = "CANCELLED", "Cancelled"
    LOST = "LOST", "Lost"
    SKIPPED = "SKIPPED", "Skipped"


LIVE = (RunStatus.QUEUED, RunStatus.RUNNING)

RUN_TRANSITIONS: dict[RunStatus, frozenset[RunStatus]] = {
    RunStatus.QUEUED: frozenset({RunStatus.RUNNING, RunStatus.SKIPPED, RunStatus.CANCELLED}),
    RunStatus.RUNNING: frozenset(
        {
            RunStatus.COMPLETED,
            RunStatus.FAILED,
            RunStatus.BLOCKED,
            RunStatus.CANCELLED,
            RunStatus.LOST,
        }
    ),
    RunStatus.COMPLETED: frozenset(),
    RunStatus.FAILED: frozenset(),
    RunStatus.BLOCKED: frozenset(),
    RunStatus.CANCELLED: frozenset(),
    RunStatus.LOST: frozenset(),
    RunStatus.SKIPPED: frozenset(),
}
"""From -> allowed to; a retry is a new run. docs/states.md shows the table."""


class Run(models.Model):
    """One attempt of one task in one batch."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="runs")
    task = models.ForeignKey(Task, null=True, on_delete=models.SET_NULL, related_name="runs")
    title = models.CharField(max_length=500, help_text="The task's title when the run was made")
    position = models.PositiveIntegerField(help_text="Order of the task in the batch, from 0")
    attempt = models.PositiveIntegerField(default=1)
    round = models.PositiveIntegerField(default=1, help_text="Round of the batch it belongs to")
    status = models.CharField(
        max_length=9, choices=RunStatus.choices, default=RunStatus.QUEUED, editable=False
    )
    reason = models.CharField(max_length=40, blank=True, help_text="Code from batches/reasons.py")
    message = models.TextField(blank=True, help_text="The reason in words")
    superseded = models.BooleanField(default=False, help_text="A later attempt took its place")

    stage = models.CharField(max_length=20, blank=True, help_text="Stage under way")
    stop_requested = models.BooleanField(default=False, help_text="This run alone is to stop")
    not_before = models.DateTimeField(null=True, blank=True, help_text="Back-off before a retry")
    agent_started = models.BooleanField(default=False, help_text="Its agent was started once")
    agent_state = models.JSONField(
        default=dict, blank=True, help_text="How far its output was read, and what it said so far"
    )
    session_id = models.CharField(max_length=200, blank=True, help_text="The engine's own name")
    session_home = models.UUIDField(
        null=True, blank=True, help_text="Run whose folder holds the session"
    )
    continues = models.UUIDField(
        null=True, blank=True, help_text="Earlier attempt whose session and work it goes on with"
    )

    base_commit = models.CharField(max_length=64, blank=True)
    expected_gates = models.JSONField(
        default=list, blank=True, help_text="Gates the base asks for; the agent cannot drop them"
    )
    environments = models.JSONField(
        default=list, blank=True, help_text="Those it works in: [{tool, key, own}]"
    )
    capture_commit = models.CharField(max_length=64, blank=True)
    integrated_commit = models.CharField(
        max_length=64, blank=True, help_text="Written before the branch moves, so a crash shows"
    )
    files_changed = models.PositiveIntegerField(default=0)
    insertions = models.PositiveIntegerField(default=0)
    deletions = models.PositiveIntegerField(default=0)
    tree_kept = models.BooleanField(default=False, help_text="Holds work git could not capture")

    verification = models.CharField(max_length=10, choices=Verification.choices, blank=True)
    verification_reason = models.TextField(blank=True)

    exit_code = models.IntegerField(null=True, blank=True)
    exit_cause = models.CharField(max_length=20, blank=True)
    output_bytes = models.PositiveBigIntegerField(default=0)
    last_line = models.CharField(max_length=200, blank=True)
    last_output_at = models.DateTimeField(null=True, blank=True)

    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["batch", "position", "attempt"]
        indexes = [models.Index(fields=["batch", "status"])]
        constraints = [
            models.UniqueConstraint(fields=["batch", "task", "attempt"], name="run_attempt_once"),
            # Two agents never work on one task, whatever is redelivered.
            models.UniqueConstraint(
                fields=["task"], condition=Q(status=RunStatus.RUNNING), name="run_one_running"
            ),
            models.UniqueConstraint(
                fields=["batch", "task"], condition=Q(status__in=LIVE), name="run_one_live"
            ),
            models.CheckConstraint(
                condition=Q(status__in=RunStatus.values), name="run_status_known"
            ),
            models.CheckConstraint(
                condition=Q(status__in=LIVE, finished_at__isnull=True)
                | (~Q(status__in=LIVE) & Q(finished_at__isnull=False)),
                name="run_finished_has_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.short_id} {self.title} #{self.attempt} {self.status}"

    @property
    def short_id(self) -> str:
        return self.id.hex[:8]

    @property
    def seconds(self) -> float | None:
        """From start to end; None while it has not ended or never started."""
        if self.started_at is None or self.finished_at is None:
            return None
        return round((self.finished_at - self.started_at).total_seconds(), 3)
