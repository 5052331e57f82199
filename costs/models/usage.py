import uuid

from django.db import models
from django.db.models import Q


class Usage(models.Model):
    """What a model call took; append-only. Ids outlive the rows they name.

    Tokens are apart: fresh input, read from and written to a cache, output; `reasoning_tokens` are
    a part of the output. `cost_usd` counts; it is null where no price is known: unpriced is not
    free. What the engine reported and what our table says are both kept beside it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace_id = models.UUIDField()
    batch_id = models.UUIDField(null=True, blank=True)
    run_id = models.UUIDField(null=True, blank=True)
    task_id = models.UUIDField(null=True, blank=True)
    call_id = models.CharField(max_length=200, help_text="The engine's own name of the call")
    agent = models.CharField(max_length=100)
    provider = models.CharField(max_length=100, blank=True)
    model = models.CharField(max_length=200)
    calls = models.PositiveIntegerField(
        default=1, help_text="0 only settles what was told before; more where calls come as a sum"
    )
    input_tokens = models.PositiveBigIntegerField(default=0)
    cache_read_tokens = models.PositiveBigIntegerField(default=0)
    cache_write_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    reasoning_tokens = models.PositiveBigIntegerField(default=0)
    estimated = models.BooleanField(default=False, help_text="The engine did not tell exact counts")
    cost_usd = models.DecimalField(max_digits=20, decimal_places=10, null=True, blank=True)
    computed_usd = models.DecimalField(max_digits=20, decimal_places=10, null=True, blank=True)
    reported_usd = models.DecimalField(max_digits=20, decimal_places=10, null=True, blank=True)
    price_source = models.CharField(
        max_length=100, blank=True, help_text="override, genai-prices, engine; empty: unpriced"
    )
    price_version = models.CharField(max_length=100, blank=True)
    note = models.CharField(max_length=300, blank=True)
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "usage"
        ordering = ["-at", "id"]
        indexes = [
            models.Index(fields=["workspace_id", "at"]),
            models.Index(fields=["task_id"]),
            models.Index(fields=["batch_id"]),
        ]
        constraints = [
            # An adopted or replayed run tells its calls again: each counts once.
            models.UniqueConstraint(fields=["run_id", "call_id"], name="usage_call_once"),
            models.CheckConstraint(
                condition=Q(cost_usd__isnull=True) | Q(cost_usd__gte=0), name="usage_cost_positive"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.input_tokens}+{self.output_tokens}"
