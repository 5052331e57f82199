from django.db import models

from batches.models.run import Run


class Finding(models.Model):
    """What vetting said about a change."""

    class Severity(models.TextChoices):
        REFUSE = "refuse", "Refuse"
        WARN = "warn", "Warn"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="findings")
    rule = models.CharField(max_length=40)
    severity = models.CharField(max_length=6, choices=Severity.choices)
    path = models.TextField(blank=True, help_text="Shown escaped; never used to open a file")
    message = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["run", "id"]

    def __str__(self) -> str:
        return f"{self.rule} {self.path}"
