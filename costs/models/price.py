from django.db import models
from django.db.models import Q
from django.utils import timezone


class PriceOverride(models.Model):
    """Dollars per million tokens of a model, from a moment on; wins over the price table.

    A later row replaces an earlier one from its own moment on; calls before keep theirs.
    """

    provider = models.CharField(max_length=100, blank=True, help_text="Empty: any provider")
    model = models.CharField(max_length=200, help_text="As the engine names it")
    input_usd = models.DecimalField(max_digits=14, decimal_places=6, help_text="Per million tokens")
    cache_read_usd = models.DecimalField(
        max_digits=14, decimal_places=6, null=True, blank=True, help_text="Empty: as input"
    )
    cache_write_usd = models.DecimalField(
        max_digits=14, decimal_places=6, null=True, blank=True, help_text="Empty: as input"
    )
    output_usd = models.DecimalField(max_digits=14, decimal_places=6)
    valid_from = models.DateTimeField(default=timezone.now)
    note = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "price"
        ordering = ["model", "provider", "-valid_from"]
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "model", "valid_from"], name="price_override_once"
            ),
            models.CheckConstraint(
                condition=Q(input_usd__gte=0)
                & Q(output_usd__gte=0)
                & (Q(cache_read_usd__isnull=True) | Q(cache_read_usd__gte=0))
                & (Q(cache_write_usd__isnull=True) | Q(cache_write_usd__gte=0)),
                name="price_override_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model} from {self.valid_from:%Y-%m-%d}"
