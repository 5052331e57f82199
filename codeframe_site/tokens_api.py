"""/api/v2/tokens and /api/v2/stream-ticket: keys of programs, and short-lived ones of streams."""

from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from codeframe_site.models import ApiToken, Scope
from codeframe_site.tickets import TICKET_SECONDS, make_ticket
from codeframe_site.tokens import make_token, revoke_token
from tasks.api.base import ApiView
from tasks.api.describe import WORKSPACE, asked, describe, paged
from tasks.api.fields import StrictInteger, StrictSerializer, StrictText, id_list, read_input
from tasks.api.pages import page_of
from tasks.api.query import yes_or_no
from tasks.api.shapes import Shape, maybe, text
from tasks.errors import NotFound
from tasks.models import Workspace
from tasks.models.membership import Role

MAX_DAYS = 3650
ORDERS = {
    "-created": ("-created_at", "id"),
    "created": ("created_at", "id"),
    "name": ("name", "id"),
}


class TokenShape(Shape):
    id = serializers.UUIDField()
    name = text()
    hint = text(help_text="How the key begins")
    scope = serializers.ChoiceField(choices=Scope.values)
    limited = serializers.BooleanField(help_text="To some workspaces")
    created_at = serializers.DateTimeField()
    expires_at = maybe(serializers.DateTimeField)
    last_used_at = maybe(serializers.DateTimeField)
    revoked_at = maybe(serializers.DateTimeField)


class NewTokenShape(TokenShape):
    key = text(help_text="Shown this once")


class TokenListShape(Shape):
    tokens = TokenShape(many=True)
    next_cursor = maybe(serializers.CharField)


class RevokedShape(Shape):
    id = serializers.UUIDField()
    revoked = serializers.BooleanField()


class TicketShape(Shape):
    ticket = text()
    expires_in = serializers.IntegerField(help_text="Seconds")


class TokensView(ApiView):
    reading_scope = writing_scope = "admin"

    class Input(StrictSerializer):
        name = StrictText(max_length=100)
        scope = serializers.ChoiceField(choices=Scope.values, default=Scope.READ)
        expires_in_days = StrictInteger(min_value=1, max_value=MAX_DAYS, required=False)
        workspace_ids = id_list(min_length=1, max_length=100)

    @describe(
        "list_tokens",
        "One's own tokens",
        returns=TokenListShape,
        query=[
            asked("revoked", "true or false", bool),
            *paged(ORDERS, default=50, maximum=200),
        ],
    )
    def get(self, request: Request) -> Response:
        rows = _within_reach(request)
        revoked = yes_or_no(request, "revoked")
        if revoked is not None:
            rows = rows.filter(revoked_at__isnull=not revoked)
        found, cursor = page_of(rows, request, orders=ORDERS, default=50, maximum=200)
        return Response({"tokens": [token_object(t) for t in found], "next_cursor": cursor})

    @describe(
        "create_token",
        "Make a token for oneself",
        returns=NewTokenShape,
        status=201,
        takes=Input,
        example={"name": "nightly", "scope": "write", "expires_in_days": 90},
    )
    def post(self, request: Request) -> Response:
        """The key is in this answer and nowhere else. No token makes one that may more."""
        given = read_input(self.Input, request.data)
        token, key = make_token(
            user=cast("User", request.user),
            name=given["name"],
            scope=given["scope"],
            expires_at=self._expiry(given.get("expires_in_days")),
            workspaces=self._workspaces(given.get("workspace_ids")),
        )
        return Response(token_object(token) | {"key": key}, status=201)

    def _expiry(self, days: int | None) -> datetime | None:
        maker = cast("ApiToken | None", self.request.auth)
        ends = [
            timezone.now() + timedelta(days=days) if days else None,
            maker.expires_at if maker else None,
        ]
        return min((end for end in ends if end), default=None)

    def _workspaces(self, wanted: list[UUID] | None) -> list[Workspace] | None:
        maker = cast("ApiToken | None", self.request.auth)
        if wanted is None:
            return list(self.visible()) if maker and maker.limited else None
        found = list(self.visible().filter(id__in=wanted))
        if len(found) != len(set(wanted)):
            raise NotFound("no such workspace")
        return found


class TokenView(ApiView):
    reading_scope = writing_scope = "admin"

    @describe("revoke_token", "Revoke a token, at once", returns=RevokedShape)
    def delete(self, request: Request, token_id: UUID) -> Response:
        rows = _within_reach(request).select_related("user")
        token = rows.filter(id=token_id).first()
        if token is None:
            raise NotFound("no such token")
        revoke_token(token, by=request.user.get_username())
        return Response({"id": str(token.id), "revoked": True})


class TicketView(ApiView):
    writing_scope = "read"
    writing_role = Role.VIEWER

    class Input(StrictSerializer):
        purpose = serializers.ChoiceField(choices=["events"], default="events")

    @describe(
        "create_stream_ticket",
        "A ticket for a browser's stream",
        returns=TicketShape,
        status=201,
        takes=Input,
        query=WORKSPACE,
        example={"purpose": "events"},
    )
    def post(self, request: Request) -> Response:
        """For a browser's stream, which cannot send a header; bound to user and workspace."""
        purpose = read_input(self.Input, request.data)["purpose"]
        workspace = self.workspace()
        maker = cast("ApiToken | None", request.auth)
        ticket = make_ticket(
            user_id=cast("int", request.user.pk),
            workspace_id=workspace.id,
            purpose=purpose,
            token_id=maker.id if maker else None,
            session="" if maker else request.session.session_key or "",
        )
        return Response({"ticket": ticket, "expires_in": TICKET_SECONDS}, status=201)


def _within_reach(request: Request) -> QuerySet[ApiToken]:
    """One's own; of these a limited token reaches itself and what may no more than itself."""
    rows = ApiToken.objects.filter(user=cast("User", request.user))
    maker = cast("ApiToken | None", request.auth)
    if maker is None or not maker.limited:
        return rows
    opened = ApiToken.workspaces.through.objects.filter(apitoken_id=OuterRef("pk"))
    beyond = opened.exclude(workspace_id__in=maker.workspaces.values("id"))
    return rows.filter(Q(id=maker.id) | Q(~Exists(beyond), limited=True))


def token_object(token: ApiToken) -> dict[str, object]:
    return {
        "id": str(token.id),
        "name": token.name,
        "hint": token.hint,
        "scope": token.scope,
        "limited": token.limited,
        "created_at": _time(token.created_at),
        "expires_at": _time(token.expires_at),
        "last_used_at": _time(token.last_used_at),
        "revoked_at": _time(token.revoked_at),
    }


def _time(value: datetime | None) -> str | None:
    return value.isoformat() if value else None
