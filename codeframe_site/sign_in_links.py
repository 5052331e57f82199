"""One-time links that let in who sits at this machine, before any password is set."""

import getpass
import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.request import split_domain_port
from django.urls import reverse
from django.utils import timezone

from codeframe_site.exposure import is_loopback
from codeframe_site.models import SignInLink
from tasks.audit import audit, person_at_the_console

MINUTES = 15
MAX_SECRET = 100
FORWARDED = (
    "HTTP_FORWARDED",
    "HTTP_VIA",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_REAL_IP",
    "HTTP_X_CLIENT_IP",
    "HTTP_TRUE_CLIENT_IP",
    "HTTP_CF_CONNECTING_IP",
)
"""Any of them was written by a proxy, whose own address says nothing of who asks."""


def nobody_has_a_password() -> bool:
    with_password = User.objects.filter(is_active=True).exclude(
        password__startswith=UNUSABLE_PASSWORD_PREFIX
    )
    return not with_password.exists()


def local_operator() -> User:
    """The one who started the server; made at the first start."""
    found = User.objects.filter(is_active=True, is_superuser=True).order_by("id").first()
    if found is not None:
        return found
    with transaction.atomic():
        user, made = User.objects.get_or_create(
            username=_system_name(), defaults={"is_staff": True, "is_superuser": True}
        )
        if made:
            user.set_unusable_password()
            user.save(update_fields=["password"])
            audit(person_at_the_console(), "operator.create", user.username)
    return user


def make_link(user: User) -> str:
    """The path of a fresh link; its secret is nowhere kept."""
    secret = secrets.token_urlsafe(32)
    now = timezone.now()
    with transaction.atomic():
        SignInLink.objects.filter(expires_at__lt=now - timedelta(days=1)).delete()
        SignInLink.objects.create(
            user=user, digest=_digest(secret), expires_at=now + timedelta(minutes=MINUTES)
        )
        audit(person_at_the_console(), "sign_in_link.create", user.username)
    return reverse("sign-in-link", kwargs={"secret": secret})


def find_link(secret: str) -> SignInLink | None:
    """One that still lets in."""
    return _open_links().filter(digest=_digest(secret)).select_related("user").first()


def use_link(secret: str) -> User | None:
    """Whom it lets in, once: of two at the same time, one."""
    with transaction.atomic():
        link = find_link(secret)
        if link is None:
            return None
        used = _open_links().filter(id=link.id).update(used_at=timezone.now())
        if not used:
            return None
        audit(link.user.get_username(), "sign_in_link.use", link.user.get_username())
    return link.user


def is_local(request: HttpRequest) -> bool:
    """Straight from this machine, asked for by a name of this machine: no proxy, no rebinding."""
    if any(name in request.META for name in FORWARDED):
        return False
    host, _ = split_domain_port(request.get_host())
    return is_loopback(request.META.get("REMOTE_ADDR", "")) and is_loopback(host)


def _open_links() -> QuerySet[SignInLink]:
    return SignInLink.objects.filter(
        used_at__isnull=True, expires_at__gt=timezone.now(), user__is_active=True
    )


def _digest(secret: str) -> str:
    return hashlib.sha256(secret[:MAX_SECRET].encode("utf-8", "surrogatepass")).hexdigest()


def _system_name() -> str:
    try:
        return getpass.getuser()[:150]
    except (KeyError, OSError):  # a container's user without a name
        return "operator"
