import uuid

from django.db import models
from django.db.models import Q

from tasks.models import Workspace


class BatchStatus(models.TextChoices):
    PENDING = "PENDING", "Pending"
    RUNNING = "RUNNING", "Running"
    CANCELLING = "CANCELLING", "Cancelling"
    COMPLETED = "COMPLETED", "Completed"
    PARTIAL = "PARTIAL", "Partial"
    FAILED = "FAILED", "Failed"
    CANCELLED = "CANCELLED", "Cancelled"


ACTIVE = (BatchStatus.PENDING, BatchStatus.RUNNING, BatchStatus.CANCELLING)
RESUMABLE = (BatchStatus.PARTIAL, BatchStatus.FAILED, BatchStatus.CANCELLED)

BATCH_TRANSITIONS: dict[BatchStatus, frozenset[BatchStatus]] = {
    BatchStatus.PENDING: frozenset(
        {BatchStatus.RUNNING, BatchStatus.CANCELLED, BatchStatus.FAILED}
    ),
    BatchStatus.RUNNING: frozenset(
        {
            BatchStatus.CANCELLING,
            BatchStatus.COMPLETED,
            BatchStatus.PARTIAL,
            BatchStatus.FAILED,
            BatchStatus.CANCELLED,
        }
    ),
    BatchStatus.CANCELLING: frozenset({BatchStatus.CANCELLED}),
    BatchStatus.COMPLETED: frozenset(),
    BatchStatus.PARTIAL: frozenset({BatchStatus.PENDING}),
    BatchStatus.FAILED: frozenset({BatchStatus.PENDING}),
    BatchStatus.CANCELLED: frozenset({BatchStatus.PENDING}),
}
"""From -> allowed to; only batches/lifecycle.py moves a batch, docs/states.md shows the table."""


class Strategy(models.TextChoices):
    SERIAL = "serial", "Serial"
    PARALLEL = "parallel", "Parallel"
    AUTO = "auto", "Auto"


class OnFailure(models.TextChoices):
    CONTINUE = "continue", "Go on"
    STOP = "stop", "Stop"


class Isolation(models.TextChoices):
    WORKTREE = "worktree", "Own tree"
    NONE = "none", "The workspace itself"


class Land(models.TextChoices):
    AUTO = "auto", "When verified"
    BRANCH = "branch", "Leave on the integration branch"
    NONE = "none", "Do not land"


class StopMode(models.TextChoices):
    STOP = "stop", "Finish what runs, start nothing more"
    CANCEL = "cancel", "End what runs"


class Verification(models.TextChoices):
    PASSED = "passed", "Passed"
    FAILED = "failed", "Failed"
    UNVERIFIED = "unverified", "Unverified"
    WAIVED = "waived", "Waived"


class Batch(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="batches")
    status = models.CharField(
        max_length=10, choices=BatchStatus.choices, default=BatchStatus.PENDING, editable=False
    )
    reason = models.CharField(max_length=40, blank=True, help_text="Code from batches/reasons.py")
    message = models.TextField(blank=True, help_text="The reason in words")

    strategy = models.CharField(max_length=8, choices=Strategy.choices, default=Strategy.PARALLEL)
    max_parallel = models.PositiveSmallIntegerField(default=4)
    on_failure = models.CharField(
        max_length=8, choices=OnFailure.choices, default=OnFailure.CONTINUE
    )
    max_retries = models.PositiveSmallIntegerField(default=0, help_text="More attempts per task")
    engine = models.CharField(max_length=100)
    engine_options = models.JSONField(default=dict, blank=True)
    model = models.CharField(max_length=200, blank=True, help_text="Empty: the engine's own choice")
    provider = models.CharField(
        max_length=100, blank=True, help_text="Whose limits hold for it; see batches/providers.py"
    )
    allow_unpriced = models.BooleanField(
        default=False, help_text="Calls without a known price are let through under a cap"
    )
    isolation = models.CharField(
        max_length=8, choices=Isolation.choices, default=Isolation.WORKTREE
    )
    gates = models.JSONField(default=str, help_text='"auto", "none" or a list of names')
    timeout_s = models.PositiveIntegerField(default=3600, help_text="Per agent run; 0 is none")
    stall_timeout_s = models.PositiveIntegerField(
        default=300, help_text="Longest silence of an agent; 0 is none"
    )
    land = models.CharField(max_length=6, choices=Land.choices, default=Land.AUTO)
    budget = models.DecimalField(
        max_digits=11, decimal_places=4, null=True, blank=True, help_text="Dollars; empty is none"
    )

    config = models.JSONField(
        default=dict, blank=True, help_text="The workspace's configuration when it was created"
    )
    environments = models.JSONField(
        default=list, blank=True, help_text="Those its validation works in, as of a run"
    )
    base_branch = models.CharField(max_length=500, blank=True, help_text="Empty: detached head")
    base_commit = models.CharField(max_length=64, blank=True)
    integrated_commit = models.CharField(
        max_length=64, blank=True, help_text="Tip of the integration branch"
    )
    verification = models.CharField(max_length=10, choices=Verification.choices, blank=True)
    verification_reason = models.TextField(blank=True)
    landing = models.CharField(max_length=20, blank=True, help_text="Outcome of landing")
    landing_detail = models.TextField(blank=True)
    landed_commit = models.CharField(max_length=64, blank=True)

    stop_mode = models.CharField(max_length=6, choices=StopMode.choices, blank=True)
    stop_reason = models.TextField(blank=True)

    lease_owner = models.CharField(max_length=200, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    fence = models.PositiveBigIntegerField(default=0, help_text="Raised by each claim")
    sent_at = models.DateTimeField(null=True, blank=True, help_text="Last message to the queue")

    round = models.PositiveIntegerField(default=1, help_text="Raised by each resume")
    total = models.PositiveIntegerField(default=0)
    completed = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    blocked = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    cancelled = models.PositiveIntegerField(default=0)

    origin = models.CharField(max_length=20, blank=True, help_text="runbatch, api, page, schedule")
    created_by = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "batches"
        ordering = ["-created_at", "id"]
        indexes = [
            models.Index(fields=["workspace", "-created_at"]),
            models.Index(fields=["status", "lease_expires_at"]),
        ]
        constraints = [
            # The promise "one active batch per workspace", for any number of processes.
            models.UniqueConstraint(
                fields=["workspace"], condition=Q(status__in=ACTIVE), name="batch_one_active"
            ),
            models.CheckConstraint(
                condition=Q(status__in=BatchStatus.values), name="batch_status_known"
            ),
            models.CheckConstraint(
                condition=Q(status__in=ACTIVE, finished_at__isnull=True)
                | (~Q(status__in=ACTIVE) & Q(finished_at__isnull=False)),
                name="batch_finished_has_time",
            ),
            models.CheckConstraint(
                condition=Q(max_parallel__gte=1), name="batch_max_parallel_positive"
            ),
            models.CheckConstraint(
                condition=Q(budget__isnull=True) | Q(budget__gt=0), name="batch_budget_positive"
            ),
            models.CheckConstraint(
                condition=~Q(status=BatchStatus.CANCELLING) | ~Q(stop_mode=""),
                name="batch_cancelling_has_mode",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.short_id} {self.status}"

    @property
    def short_id(self) -> str:
        return self.id.hex[:8]

    @property
    def branch(self) -> str:
        """Integration branch in the workspace's repository."""
        return f"codeframe/batch-{self.short_id}"

    @property
    def is_active(self) -> bool:
        return self.status in ACTIVE
