from django.db import models
from django.db.models import Q

from batches.models.batch import Batch
from batches.models.run import Run


class GateRecord(models.Model):
    """Result of one gate, on a run's tree or (without a run) on the batch's integrated tree."""

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="gate_records")
    run = models.ForeignKey(
        Run, null=True, blank=True, on_delete=models.CASCADE, related_name="gate_records"
    )
    name = models.CharField(max_length=100)
    outcome = models.CharField(max_length=20)
    exit_code = models.IntegerField(null=True, blank=True)
    duration_s = models.FloatField(default=0)
    summary = models.TextField(blank=True)
    findings = models.JSONField(default=list)
    output_tail = models.TextField(blank=True)
    tree = models.CharField(max_length=64, blank=True, help_text="Git tree that was checked")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["batch", "id"]
        constraints = [
            models.CheckConstraint(condition=~Q(outcome=""), name="gate_has_outcome"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.outcome}"
