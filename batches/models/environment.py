from django.db import models

from tasks.models import Workspace


class Environment(models.Model):
    """A shared environment that was built on one machine; its seal on the disk is the truth."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="environments")
    host = models.CharField(max_length=200, help_text="Machine that holds it")
    key = models.CharField(max_length=64, help_text="Of the lock files and the tools' versions")
    tool = models.CharField(max_length=20)
    versions = models.JSONField(default=dict, blank=True, help_text="Of what built it")
    bytes = models.PositiveBigIntegerField(default=0)
    files = models.PositiveIntegerField(default=0)
    build_seconds = models.FloatField(default=0.0)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField()

    class Meta:
        ordering = ["-last_used_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "host", "key"], name="environment_once_per_host"
            )
        ]

    def __str__(self) -> str:
        return f"{self.tool} {self.key[:8]}"
