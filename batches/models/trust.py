from django.db import models

from tasks.models import Workspace


class TrustedConfig(models.Model):
    """A content of `.codeframe/config.yaml` that an operator has read and lets hold."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="trusted_configs"
    )
    digest = models.CharField(max_length=64, help_text="SHA-256 of the file")
    trusted_by = models.CharField(max_length=200, blank=True)
    trusted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["workspace", "id"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "digest"], name="config_trusted_once")
        ]

    def __str__(self) -> str:
        return self.digest[:12]
