import uuid

from django.db import models
from django.db.models import Q


class Usage(models.Model):
    """What one model call took; append-only. Ids outlive the rows they name.

    Tokens are apart: fresh input, read from and written to a cache, output. `cost_usd` is null
    where no price is known: unpriced is not free. An agent's totals at its end settle what it told
    before: such a row holds the difference, stands for no call, and makes the others exact.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace_id = models.UUIDField()
    batch_id = models.UUIDField(null=True, blank=True)
    run_id = models.UUIDField(null=True, blank=True)
    task_id = models.UUIDField(null=True, blank=True)
    call_id = models.CharField(max_length=200, help_text="The engine's own name of the call")
    agent = models.CharField(max_length=100)
    model = models.CharField(max_length=200)
    input_tokens = models.PositiveBigIntegerField(default=0)
    cache_read_tokens = models.PositiveBigIntegerField(default=0)
    cache_write_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    reasoning_tokens = models.PositiveBigIntegerField(default=0, help_text="Part of the output")
    calls = models.PositiveIntegerField(default=1, help_text="0: settles calls told before")
    cost_usd = models.DecimalField(
        max_digits=18, decimal_places=10, null=True, blank=True, help_text="What counts"
    )
    reported_usd = models.DecimalField(
        max_digits=18, decimal_places=10, null=True, blank=True, help_text="As the agent says"
    )
    price_source = models.CharField(max_length=100, blank=True)
    price_version = models.CharField(max_length=40, blank=True)
    estimated = models.BooleanField(default=False, help_text="Not all of it is known")
    note = models.CharField(max_length=200, blank=True)
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


class Price(models.Model):
    """Dollars per million tokens, before any list of prices; the newest that is valid counts.

    Cache prices left out are the input's.
    """

    provider = models.CharField(max_length=100, blank=True, help_text="Empty: whoever serves it")
    model = models.CharField(max_length=200, help_text="As the agent names it")
    valid_from = models.DateField()
    input_usd = models.DecimalField(max_digits=12, decimal_places=6)
    cache_read_usd = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    cache_write_usd = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    output_usd = models.DecimalField(max_digits=12, decimal_places=6)

    class Meta:
        ordering = ["model", "-valid_from"]
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "model", "valid_from"], name="price_once_a_day"
            ),
            models.CheckConstraint(
                condition=Q(input_usd__gte=0, output_usd__gte=0)
                & (Q(cache_read_usd__isnull=True) | Q(cache_read_usd__gte=0))
                & (Q(cache_write_usd__isnull=True) | Q(cache_write_usd__gte=0)),
                name="price_positive",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model} from {self.valid_from}"
