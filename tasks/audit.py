"""Rows about who changed rights, settings or money."""

import getpass
from typing import Any

from tasks.models import AuditEntry
from tasks.text import clip, storable, storable_json


def audit(by: str, action: str, subject: object = "", detail: dict[str, Any] | None = None) -> None:
    """For the transaction of the change itself: neither is there without the other."""
    AuditEntry.objects.create(
        user=clip(storable(by) or "anonymous", 200),
        action=action,
        subject=clip(storable(str(subject)), 300),
        detail=storable_json(detail or {}),
    )


def person_at_the_console() -> str:
    """Whoever may run our commands, as the system names them."""
    try:
        return f"{getpass.getuser()} (console)"
    except (KeyError, OSError):  # a container's user without a name
        return "console"
