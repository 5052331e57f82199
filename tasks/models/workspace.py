import uuid

from django.db import models


class Workspace(models.Model):
    """A git repository that batches run on; its row is the lock for "one active batch"."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.SlugField(max_length=100, unique=True)
    repo_path = models.CharField(max_length=4000, unique=True, help_text="Absolute, links resolved")
    host = models.CharField(
        max_length=200, blank=True, help_text="Machine that holds the repository; empty is any"
    )
    gates = models.JSONField(
        default=list, blank=True, help_text="Own gates: [{name, argv, timeout_s}]"
    )
    gates_waived = models.BooleanField(
        default=False, help_text="Declared to need no gates: results are waived, not unverified"
    )
    config = models.JSONField(
        default=dict, blank=True, help_text="By dotted key; above the repository's own file"
    )
    time_zone = models.CharField(
        max_length=64, default="UTC", help_text="Its days and months, of caps and of reports"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
