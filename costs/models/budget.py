from django.db import models
from django.db.models import Q


class BudgetScope(models.TextChoices):
    TASK = "task", "Each task"
    BATCH = "batch", "Batch"
    DAY = "day", "Workspace, a day"
    MONTH = "month", "Workspace, a month"


class Budget(models.Model):
    """A cap in dollars.

    The subject is the batch, or the workspace; of the scope `task` also one task, or the batch or
    the workspace each of whose tasks it holds for. A hard one stops agents, a soft one launches
    nothing more.
    """

    scope = models.CharField(max_length=5, choices=BudgetScope.choices)
    subject_id = models.UUIDField()
    hard = models.BooleanField(default=True)
    limit_usd = models.DecimalField(max_digits=14, decimal_places=4)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["scope", "subject_id", "hard"], name="budget_once"),
            models.CheckConstraint(condition=Q(limit_usd__gt=0), name="budget_positive"),
        ]
        indexes = [models.Index(fields=["subject_id"])]

    def __str__(self) -> str:
        return f"{self.scope} ${self.limit_usd}"
