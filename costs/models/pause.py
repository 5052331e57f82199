from django.db import models


class ProviderPause(models.Model):
    """Nothing is launched for a provider until then, on any batch; kept across workers."""

    provider = models.CharField(max_length=100, unique=True)
    until = models.DateTimeField()
    since = models.DateTimeField()
    strikes = models.PositiveIntegerField(default=1, help_text="Limits met in a row")
    message = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["provider"]

    def __str__(self) -> str:
        return f"{self.provider} until {self.until:%Y-%m-%d %H:%M:%S}"
