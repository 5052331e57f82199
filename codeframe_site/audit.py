"""Rows about who changed rights, settings or money."""

from typing import Any

from codeframe_site.models import AuditEntry
from tasks.text import clip, storable, storable_json


def audit(user: Any, action: str, subject: str = "", detail: dict[str, Any] | None = None) -> None:
    AuditEntry.objects.create(
        user=clip(user.get_username() or "anonymous", 200),
        action=action,
        subject=clip(storable(subject), 300),
        detail=storable_json(detail or {}),
    )
