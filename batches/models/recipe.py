from django.db import models

from batches.models.run import Run
from tasks.models import Workspace


class Decision(models.TextChoices):
    OFFERED = "offered", "Offered"
    APPROVED = "approved", "Approved"
    REFUSED = "refused", "Refused"


class RecipeCommand(models.Model):
    """A set-up command of a workspace; one that an agent declared is replayed once approved."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="recipe")
    text = models.CharField(max_length=1000)
    decision = models.CharField(
        max_length=8, choices=Decision.choices, default=Decision.OFFERED, editable=False
    )
    run = models.ForeignKey(
        Run, null=True, blank=True, on_delete=models.SET_NULL, help_text="Whose agent declared it"
    )
    decided_by = models.CharField(max_length=200, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["workspace", "id"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "text"], name="recipe_command_once")
        ]

    def __str__(self) -> str:
        return self.text
