"""What must be true before pages are served to other machines."""

import ipaddress

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX

from codeframe_site import env


def refusal(bind: str) -> str:
    """Why that address must not be served yet, in one sentence; empty when it may."""
    if is_loopback(bind):
        return ""
    missing = [step for step, done in _steps() if not done]
    if not missing:
        return ""
    return f"{bind} can be reached from other machines; first {', '.join(missing)}"


def is_loopback(bind: str) -> bool:
    if bind == "localhost":
        return True
    try:
        return ipaddress.ip_address(bind.strip("[]")).is_loopback
    except ValueError:
        return False  # a name: nobody knows where it leads


def _steps() -> list[tuple[str, bool]]:
    return [
        ("set CODEFRAME_SECRET_KEY", not env.is_default("CODEFRAME_SECRET_KEY")),
        (
            "set CODEFRAME_ALLOWED_HOSTS to the names it is reached by",
            not env.is_default("CODEFRAME_ALLOWED_HOSTS"),
        ),
        ("switch CODEFRAME_DEBUG off", not settings.DEBUG),
        (
            "create an account (manage.py createsuperuser)",
            # Who has no password comes in by a link from this machine, and never from another.
            get_user_model()
            .objects.filter(is_active=True)
            .exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX)
            .exists(),
        ),
    ]
