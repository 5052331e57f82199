"""Who may open which stream, and whether they still may: the rules of the API, for sockets."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.contrib import auth
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.db.models import Model
from django.http import parse_cookie
from django.http.request import split_domain_port, validate_host
from django.utils import timezone

from batches.models import Batch, Run
from batches.models.batch import ACTIVE
from batches.models.run import LIVE
from codeframe_site.auth import MAX_KEY
from codeframe_site.errors import error_body
from codeframe_site.models import ApiToken
from codeframe_site.still_allowed import Grant, lost
from codeframe_site.tickets import read_ticket
from codeframe_site.tokens import find_token
from tasks.access import visible_workspaces
from tasks.events.admission import Admission, Asked, Refused
from tasks.events.hub import Hub
from tasks.events.reading import last_seq
from tasks.events.target import Target
from tasks.models import Task, Workspace

HUB = Hub(
    most=settings.MAX_STREAMS,
    most_per_user=settings.MAX_STREAMS_PER_USER,
    patience_s=settings.STREAM_PATIENCE_SECONDS,
)
MAX_TICKET = 1000
MAX_SEQ = 2**63 - 1
LOCAL_HOSTS = [".localhost", "127.0.0.1", "[::1]"]
_HOMES: dict[str, tuple[type[Model], str]] = {
    "batch": (Batch, "workspace_id"),
    "run": (Run, "batch__workspace_id"),
    "task": (Task, "workspace_id"),
}
_REFUSALS = {
    400: ("INVALID_REQUEST", "Invalid request"),
    401: ("UNAUTHORIZED", "Sign in or send a token"),
    403: ("FORBIDDEN", "Forbidden"),
    404: ("NOT_FOUND", "Not found"),
    422: ("VALIDATION_ERROR", "Invalid input"),
    429: ("RATE_LIMITED", "Too many streams"),
    503: ("SERVICE_UNAVAILABLE", "Service unavailable"),
}


@dataclass(frozen=True)
class Caller:
    """`only` is the workspace that a ticket is for."""

    user: User
    token: ApiToken | None = None
    session: str = ""
    only: UUID | None = None


class SiteDoor:
    """tasks.events.admission.Door, by the site's users, tokens, tickets and memberships."""

    def admit(self, asked: Asked) -> Admission:
        _check_origin(asked)
        return _admit(asked)

    def lost(self, admissions: Iterable[Admission]) -> dict[Admission, int]:
        return lost(admissions)

    def body(self, refused: Refused) -> bytes:
        code, title = _REFUSALS[refused.status]
        return json.dumps(error_body(title, code, refused.message)).encode()


def _admit(asked: Asked) -> Admission:
    caller = _caller(asked)
    after = _after(asked)
    workspace_id = _workspace_of(asked)
    if workspace_id is None or not _sees(caller, workspace_id):
        raise Refused(404, f"no such {asked.kind}")
    # The state is read between two looks at the log: what ended it is after the first, and so
    # still to be streamed, or the state tells it; and it is not after the second.
    before = last_seq(workspace_id)
    ended = _ended(asked)
    settled = last_seq(workspace_id)
    return Admission(
        target=Target(asked.kind, asked.id, workspace_id),
        user_id=caller.user.pk,
        cursor=before if after is None else min(after, before),
        settled=settled,
        ended=ended,
        grant=Grant.of(caller.user, workspace_id, token=caller.token, session=caller.session),
    )


def _check_origin(asked: Asked) -> None:
    """A page of another site that makes a visitor's browser call here says where it is from."""
    host = asked.headers.get("host", "")
    domain, _ = split_domain_port(host)
    allowed = settings.ALLOWED_HOSTS or (LOCAL_HOSTS if settings.DEBUG else [])
    if not domain or not validate_host(domain, allowed):
        raise Refused(400, "this server does not answer to that Host")
    origin = asked.headers.get("origin")
    if origin is not None and not _ours(origin, host):
        raise Refused(403, "the Origin is foreign")
    if origin is None and asked.headers.get("sec-fetch-site") == "cross-site":
        raise Refused(403, "the page that asks is foreign")


def _ours(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin.lower())
    except ValueError:
        return False
    if parts.scheme not in ("http", "https"):
        return False
    if _without_default(parts.netloc, parts.scheme) == _without_default(host.lower(), parts.scheme):
        return True
    return any(_trusted(parts.scheme, parts.netloc, given) for given in _trusted_origins())


def _trusted_origins() -> list[str]:
    return [given.lower() for given in settings.CSRF_TRUSTED_ORIGINS]


def _trusted(scheme: str, netloc: str, given: str) -> bool:
    """`https://*.example.com` stands for its subdomains, as for Django's own check."""
    known_scheme, _, known = given.partition("://")
    if scheme != known_scheme:
        return False
    return netloc.endswith(known[1:]) if known.startswith("*.") else netloc == known


def _without_default(netloc: str, scheme: str) -> str:
    return netloc.removesuffix({"http": ":80", "https": ":443"}[scheme])


def _caller(asked: Asked) -> Caller:
    """By ticket, token or session: the first that is given counts. Raises Refused."""
    if "ticket" in asked.query:
        found = _by_ticket(asked.query["ticket"])
    elif key := _key(asked):
        found = _by_key(key)
    else:
        found = _by_session(asked)
    if found is None:
        raise Refused(401, "sign in, or send a token or a fresh ticket")
    return found


def _by_ticket(text: str) -> Caller | None:
    ticket = read_ticket(text, purpose="events") if len(text) <= MAX_TICKET else None
    if ticket is None:
        return None
    caller = _of_session(ticket.session) if ticket.session else _of_token(ticket.token_id)
    if caller is None or caller.user.pk != ticket.user_id:
        return None
    return replace(caller, only=ticket.workspace_id)


def _of_token(token_id: UUID | None) -> Caller | None:
    if token_id is None:
        return None
    rows = ApiToken.objects.select_related("user")
    token = rows.filter(id=token_id, revoked_at__isnull=True, user__is_active=True).first()
    if token is None or (token.expires_at and token.expires_at <= timezone.now()):
        return None
    return Caller(token.user, token=token)


def _key(asked: Asked) -> str:
    if given := asked.headers.get("x-api-key", "").strip():
        return given
    scheme, _, rest = asked.headers.get("authorization", "").partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else ""


def _by_key(key: str) -> Caller | None:
    token = find_token(key) if len(key) <= MAX_KEY else None
    return Caller(token.user, token=token) if token else None


def _by_session(asked: Asked) -> Caller | None:
    cookies = parse_cookie(asked.headers.get("cookie", ""))
    key = cookies.get(settings.SESSION_COOKIE_NAME, "")
    return _of_session(key) if key and key.isascii() else None


def _of_session(key: str) -> Caller | None:
    request: Any = SimpleNamespace(session=SessionStore(key))
    user = auth.get_user(request)
    return Caller(user, session=key) if isinstance(user, User) else None


def _after(asked: Asked) -> int | None:
    """None is from now on. A browser that comes back says where it was in a header."""
    given = asked.headers.get("last-event-id") or asked.query.get("after")
    if not given:
        return None
    if not (given.isascii() and given.isdecimal() and len(given) < 20):
        raise Refused(422, "after: give a whole number, as an event's seq")
    return min(int(given), MAX_SEQ)


def _workspace_of(asked: Asked) -> UUID | None:
    if asked.kind == "workspace":
        return asked.id
    model, column = _HOMES[asked.kind]
    found: UUID | None = (
        model._default_manager.filter(pk=asked.id).values_list(column, flat=True).first()
    )
    return found


def _sees(caller: Caller, workspace_id: UUID) -> bool:
    if caller.only not in (None, workspace_id):
        return False
    token = caller.token
    limited: Any = token.workspaces.all() if token is not None and token.limited else None
    seen = visible_workspaces(caller.user, limited_to=limited)
    return Workspace.objects.filter(id__in=seen.values("id"), id=workspace_id).exists()


def _ended(asked: Asked) -> str:
    """The status of what is over, and of the newest run of a task; empty while it goes on."""
    if asked.kind == "batch":
        status = Batch.objects.filter(id=asked.id).values_list("status", flat=True).first()
        return "" if status in ACTIVE else str(status or "")
    if asked.kind in ("run", "task"):
        rows = Run.objects.filter(**{"id" if asked.kind == "run" else "task_id": asked.id})
        newest = rows.order_by("-batch__created_at", "-round", "-attempt")
        status = newest.values_list("status", flat=True).first()
        return "" if status in LIVE else str(status or "")
    return ""
