from django.db import models

from tasks.models.workspace import Workspace


class EventCounter(models.Model):
    """Last `seq` given out in a workspace; a narrow row of its own, so that its lock is short."""

    workspace = models.OneToOneField(
        Workspace, primary_key=True, on_delete=models.CASCADE, related_name="event_counter"
    )
    seq = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.workspace_id} at {self.seq}"


class Event(models.Model):
    """Append-only; `seq` is the cursor. Ids of tasks, batches and runs outlive their rows."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="events")
    seq = models.BigIntegerField()
    type = models.CharField(max_length=40)
    task_id = models.UUIDField(null=True, blank=True)
    batch_id = models.UUIDField(null=True, blank=True)
    run_id = models.UUIDField(null=True, blank=True)
    payload = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["workspace", "seq"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "seq"], name="event_seq_unique"),
        ]
        indexes = [
            models.Index(fields=["batch_id", "seq"]),
            models.Index(fields=["run_id", "seq"]),
            models.Index(fields=["task_id", "seq"]),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"
