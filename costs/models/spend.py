from decimal import Decimal

from django.db import models

from costs.money import of_units


class SpendScope(models.TextChoices):
    BATCH = "batch", "Batch"
    DAY = "day", "Workspace's day"
    MONTH = "month", "Workspace's month"
    RUN = "run", "Run"
    TASK = "task", "Task"


class Spend(models.Model):
    """Running sums over usage, kept in its transactions, so that a cap is checked in one look.

    `period` is "2026-11-29" of a day, "2026-11" of a month, in the workspace's time zone; else
    empty. Money in whole units (costs/money.py): both databases add those exactly.
    """

    scope = models.CharField(max_length=5, choices=SpendScope.choices)
    subject_id = models.UUIDField(help_text="Of the batch, workspace, run or task")
    period = models.CharField(max_length=10, blank=True)
    units = models.BigIntegerField(default=0)
    input_tokens = models.BigIntegerField(default=0)
    cache_read_tokens = models.BigIntegerField(default=0)
    cache_write_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    calls = models.BigIntegerField(default=0)
    unpriced = models.BigIntegerField(default=0, help_text="Calls without a known price")
    estimated = models.BigIntegerField(default=0, help_text="Calls whose counts are estimates")

    class Meta:
        verbose_name_plural = "spend"
        constraints = [
            models.UniqueConstraint(fields=["scope", "subject_id", "period"], name="spend_once"),
        ]

    def __str__(self) -> str:
        return f"{self.scope} {self.subject_id} {self.period}"

    @property
    def usd(self) -> Decimal:
        return of_units(self.units)
