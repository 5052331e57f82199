import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from tasks.models import Workspace


class Scope(models.TextChoices):
    READ = "read", "Read"
    WRITE = "write", "Write"
    ADMIN = "admin", "Admin"


class ApiToken(models.Model):
    """A program's key to the API. Only its hash is kept; the key itself is shown once."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=12, editable=False, help_text="First letters of the key")
    scope = models.CharField(max_length=5, choices=Scope.choices, default=Scope.READ)
    limited = models.BooleanField(
        default=False, help_text="To its workspaces; else it opens all of the user's"
    )
    workspaces = models.ManyToManyField(Workspace, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "id"]
        constraints = [
            models.CheckConstraint(condition=Q(scope__in=Scope.values), name="token_scope_known"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.hint}…)"


class RateCount(models.Model):
    """How often a caller asked in a slot of time and in the one before; see rates.py."""

    key = models.CharField(primary_key=True, max_length=64, help_text="Hash of who and what")
    slot = models.BigIntegerField()
    count = models.PositiveIntegerField()
    before = models.PositiveIntegerField()
    until = models.DateTimeField(db_index=True, help_text="Then it says nothing any more")

    def __str__(self) -> str:
        return f"{self.key[:8]}: {self.count}"


class SignInLink(models.Model):
    """Lets one person in once, from this machine. Only a hash of the link is kept."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sign_in_links"
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"for {self.user_id} until {self.expires_at:%H:%M}"
