from django.db import models

from batches.models.run import Run


class StageOutcome(models.TextChoices):
    OK = "ok", "Ok"
    FAILED = "failed", "Failed"
    INTERRUPTED = "interrupted", "Interrupted"


class Stage(models.Model):
    """One step of a run, drawn as a timeline; open while `ended_at` is null."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="stages")
    name = models.CharField(max_length=20)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=11, choices=StageOutcome.choices, blank=True)
    detail = models.TextField(blank=True)
    deadline_s = models.PositiveIntegerField(null=True, blank=True)
    commands = models.JSONField(
        default=list,
        blank=True,
        help_text="[{command, outcome, exit_code, seconds, log, tail}], those not run too",
    )

    class Meta:
        ordering = ["run", "id"]

    def __str__(self) -> str:
        return f"{self.name} {self.outcome or 'under way'}"
