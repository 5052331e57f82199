"""Make, find and revoke the keys of programs."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import DEFAULT_DB_ALIAS, transaction
from django.utils import timezone

from codeframe_site.models import ApiToken, Scope
from tasks.audit import audit
from tasks.compiled import Compiled
from tasks.models import Workspace

PREFIX = "cf_"
_OF_TOKEN = tuple(field.attname for field in ApiToken._meta.concrete_fields)
_OF_USER = tuple(field.attname for field in User._meta.concrete_fields)
_BY_DIGEST = Compiled(
    lambda digest: (
        ApiToken.objects.filter(digest=digest, revoked_at__isnull=True, user__is_active=True)
        .order_by()
        .values_list(*_OF_TOKEN, *(f"user__{name}" for name in _OF_USER))
    )
)
USED_RESOLUTION = timedelta(minutes=1)
"""`last_used_at` is written at most this often, so that reads stay reads."""


def make_token(
    *,
    user: User,
    name: str,
    scope: Scope = Scope.READ,
    expires_at: datetime | None = None,
    workspaces: Iterable[Workspace] | None = None,
    by: str = "",
) -> tuple[ApiToken, str]:
    """The row and the key, which is nowhere kept. No `workspaces`: all that the user may see.

    A token whose last workspace is removed opens nothing any more, instead of everything.
    """
    key = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        token = ApiToken.objects.create(
            user=user,
            name=name,
            scope=scope,
            expires_at=expires_at,
            limited=workspaces is not None,
            digest=_digest(key),
            hint=key[:8],
        )
        token.workspaces.set(workspaces or ())
        detail = {"user": user.username, "name": name, "scope": scope, "limited": token.limited}
        audit(by or user.username, "token.create", token.id, detail)
    return token, key


def find_token(key: str) -> ApiToken | None:
    """None for what is unknown, revoked, expired, or belongs to someone who may not log in."""
    row = _BY_DIGEST.first(_digest(key))
    if row is None:
        return None
    token = ApiToken.from_db(DEFAULT_DB_ALIAS, _OF_TOKEN, row[: len(_OF_TOKEN)])
    token.user = User.from_db(DEFAULT_DB_ALIAS, _OF_USER, row[len(_OF_TOKEN) :])
    now = timezone.now()
    if token.expires_at and token.expires_at <= now:
        return None
    if token.last_used_at is None or now - token.last_used_at > USED_RESOLUTION:
        ApiToken.objects.filter(id=token.id).update(last_used_at=now)
    return token


def revoke_token(token: ApiToken, *, by: str) -> None:
    """At once, and for good; once more is the same."""
    with transaction.atomic():
        revoked = ApiToken.objects.filter(id=token.id, revoked_at__isnull=True).update(
            revoked_at=timezone.now()
        )
        if revoked:
            audit(by, "token.revoke", token.id, {"user": token.user.username, "name": token.name})


def _digest(key: str) -> str:
    """A plain hash is enough: the key has 256 random bits, so there is nothing to guess."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
