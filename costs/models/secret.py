from django.db import models


class Secret(models.Model):
    """A key of a provider, encrypted; its name is the environment variable engines know it by."""

    name = models.CharField(max_length=100, unique=True)
    ciphertext = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
