"""/api/v2/tokens and /api/v2/stream-ticket: keys of programs, and short-lived ones of streams."""

from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from codeframe_site.audit import audit
from codeframe_site.models import ApiToken, Scope
from codeframe_site.tickets import TICKET_SECONDS, make_ticket
from codeframe_site.tokens import make_token, revoke_token
from tasks.api.base import ApiView, StrictInteger, StrictSerializer, StrictText, read_input
from tasks.api.pages import page_of
from tasks.errors import NotFound
from tasks.models.membership import Role

MAX_DAYS = 3650


class TokensView(ApiView):
    scope = "admin"

    class Input(StrictSerializer):
        name = StrictText(max_length=100)
        scope = serializers.ChoiceField(choices=Scope.values, default=Scope.READ)
        expires_in_days = StrictInteger(min_value=1, max_value=MAX_DAYS, required=False)
        workspace_ids = serializers.ListField(
            child=serializers.UUIDField(), required=False, max_length=100
        )

    def get(self, request: Request) -> Response:
        rows = ApiToken.objects.filter(user=cast("User", request.user))
        found, cursor = page_of(rows, request, order=("-created_at", "id"), default=50, maximum=200)
        return Response({"tokens": [token_object(t) for t in found], "next_cursor": cursor})

    def post(self, request: Request) -> Response:
        """The key is in this answer and nowhere else."""
        given = read_input(self.Input, request.data)
        wanted = given.get("workspace_ids", [])
        workspaces = list(self.visible().filter(id__in=wanted))
        if len(workspaces) != len(set(wanted)):
            raise NotFound("no such workspace")
        days = given.get("expires_in_days")
        token, key = make_token(
            user=cast("User", request.user),
            name=given["name"],
            scope=given["scope"],
            expires_at=timezone.now() + timedelta(days=days) if days else None,
            workspaces=workspaces,
        )
        audit(request.user, "token.create", str(token.id), {"scope": token.scope})
        return Response(token_object(token) | {"key": key}, status=201)


class TokenView(ApiView):
    scope = "admin"

    def delete(self, request: Request, token_id: UUID) -> Response:
        token = ApiToken.objects.filter(id=token_id, user=cast("User", request.user)).first()
        if token is None:
            raise NotFound("no such token")
        revoke_token(token)
        audit(request.user, "token.revoke", str(token.id))
        return Response({"id": str(token.id), "revoked": True})


class TicketView(ApiView):
    scope = "read"
    writing_role = Role.VIEWER

    class Input(StrictSerializer):
        purpose = serializers.ChoiceField(choices=["events"], default="events")

    def post(self, request: Request) -> Response:
        """For a browser's stream, which cannot send a header; bound to user and workspace."""
        purpose = read_input(self.Input, request.data)["purpose"]
        workspace = self.workspace()
        ticket = make_ticket(
            user_id=cast("int", request.user.pk), workspace_id=workspace.id, purpose=purpose
        )
        return Response({"ticket": ticket, "expires_in": TICKET_SECONDS}, status=201)


def token_object(token: ApiToken) -> dict[str, object]:
    return {
        "id": str(token.id),
        "name": token.name,
        "hint": token.hint,
        "scope": token.scope,
        "created_at": _time(token.created_at),
        "expires_at": _time(token.expires_at),
        "last_used_at": _time(token.last_used_at),
        "revoked_at": _time(token.revoked_at),
    }


def _time(value: datetime | None) -> str | None:
    return value.isoformat() if value else None
