"""Whether those who were let in would be let in again: asked for all open streams at once."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self
from uuid import UUID

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import Q
from django.utils import timezone

from codeframe_site.models import ApiToken
from tasks.events.admission import Admission
from tasks.models import Membership, Workspace


@dataclass(frozen=True)
class Grant:
    """What a stream was opened with."""

    user_id: int
    workspace_id: UUID
    token_id: UUID | None
    limited: bool
    session: str
    password: str
    """A digest that changes with the user's password; of sessions, which end with it."""

    @classmethod
    def of(cls, user: User, workspace: UUID, *, token: ApiToken | None, session: str) -> Self:
        return cls(
            user_id=user.pk,
            workspace_id=workspace,
            token_id=token.id if token else None,
            limited=bool(token and token.limited),
            session=session,
            password=user.get_session_auth_hash() if session else "",
        )


def lost(admissions: Iterable[Admission]) -> dict[Admission, int]:
    """Five queries however many there are. 401: signed out or revoked; 404: sees it no more."""
    every = list(admissions)
    known = _Known([admission.grant for admission in every])
    found = {admission: known.status(admission.grant) for admission in every}
    return {admission: status for admission, status in found.items() if status}


class _Known:
    def __init__(self, grants: list[Grant]) -> None:
        now = timezone.now()
        people = {grant.user_id for grant in grants}
        users = User.objects.filter(id__in=people, is_active=True)
        self._users = {user.pk: user for user in users}
        self._hashes = {user.pk: user.get_session_auth_hash() for user in self._users.values()}
        keys = {grant.session for grant in grants if grant.session}
        sessions = Session.objects.filter(session_key__in=keys, expire_date__gt=now)
        self._sessions = set(sessions.values_list("session_key", flat=True))
        ids = {grant.token_id for grant in grants if grant.token_id}
        valid = Q(expires_at__isnull=True) | Q(expires_at__gt=now)
        tokens = ApiToken.objects.filter(valid, id__in=ids, revoked_at__isnull=True)
        rows = list(tokens.values_list("id", "workspaces"))
        self._tokens = {token for token, _ in rows}
        self._opened = set(rows)
        members = Membership.objects.filter(user_id__in=people)
        self._members = set(members.values_list("user_id", "workspace_id"))
        wanted = {grant.workspace_id for grant in grants}
        self._workspaces = set(Workspace.objects.filter(id__in=wanted).values_list("id", flat=True))

    def status(self, grant: Grant) -> int:
        if not self._is_signed_in(grant):
            return 401
        return 0 if self._sees(grant) else 404

    def _is_signed_in(self, grant: Grant) -> bool:
        if grant.user_id not in self._users:
            return False
        if grant.token_id:
            return grant.token_id in self._tokens
        same = self._hashes[grant.user_id] == grant.password
        return same and grant.session in self._sessions

    def _sees(self, grant: Grant) -> bool:
        if grant.workspace_id not in self._workspaces:
            return False
        if grant.limited and (grant.token_id, grant.workspace_id) not in self._opened:
            return False
        if self._users[grant.user_id].is_superuser:
            return True
        return (grant.user_id, grant.workspace_id) in self._members
