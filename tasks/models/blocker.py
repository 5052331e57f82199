import uuid

from django.db import models
from django.db.models import Q

from tasks.models.task import Task


class BlockerStatus(models.TextChoices):
    OPEN = "OPEN", "Open"
    ANSWERED = "ANSWERED", "Answered"
    RESOLVED = "RESOLVED", "Resolved"


class Blocker(models.Model):
    """A question only a person can answer; its task waits until every open one is closed."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="blockers")
    run_id = models.UUIDField(null=True, blank=True, help_text="Run that asked")
    status = models.CharField(
        max_length=8, choices=BlockerStatus.choices, default=BlockerStatus.OPEN, editable=False
    )
    reason = models.CharField(max_length=40, help_text="Reason code, for example conflict")
    question = models.TextField()
    answer = models.TextField(blank=True)
    answered_by = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=BlockerStatus.values), name="blocker_status_known"
            ),
            models.CheckConstraint(
                condition=Q(status=BlockerStatus.OPEN) | Q(answered_at__isnull=False),
                name="blocker_closed_has_time",
            ),
        ]

    def __str__(self) -> str:
        return self.question[:80]
