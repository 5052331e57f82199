from django.db import models


class AuditEntry(models.Model):
    """Who changed rights, settings or money, or gave a free command line; never edited."""

    at = models.DateTimeField(auto_now_add=True)
    user = models.CharField(max_length=200)
    action = models.CharField(max_length=60)
    subject = models.CharField(max_length=300, blank=True)
    detail = models.JSONField(default=dict)

    class Meta:
        verbose_name_plural = "audit entries"
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["action", "-at"])]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.user} {self.action} {self.subject}"
