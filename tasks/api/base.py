"""What every view of the API shares: scopes, the workspace asked for, roles."""

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from tasks.access import require_role, visible_workspaces
from tasks.api.query import refuse_unstorable
from tasks.errors import Forbidden, NotFound, ValidationFailed
from tasks.lookup import by_prefix
from tasks.models import Workspace
from tasks.models.membership import Role
from tasks.workspaces.registry import resolved_path

M = TypeVar("M", bound=Model)
RowId = UUID | str
"""Whole, or the beginning of one; see codeframe_site/paths.py."""
SCOPES = {"read": 1, "write": 2, "admin": 3}


class HasScope(BasePermission):
    """Reading needs read, changing needs write; a view may ask for more. Sessions have all."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not request.user or not request.user.is_authenticated:
            return False
        held = held_scope(request)
        needed = needed_scope(view, str(request.method))
        if SCOPES[held] < SCOPES[needed]:
            raise Forbidden(f"this token has the scope {held}; this needs {needed}")
        return True


def held_scope(request: Request) -> str:
    return str(getattr(request.auth, "scope", "admin"))


def needed_scope(view: Any, method: str) -> str:
    if method in SAFE_METHODS:
        return str(view.reading_scope)
    return str(view.writing_scope)


class AnyAccept(DefaultContentNegotiation):
    """The answer is JSON, or the bytes asked for, whatever the caller says it would rather have."""

    def select_renderer(
        self,
        request: Request,
        renderers: Sequence[BaseRenderer],  # type: ignore[override]
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], str(renderers[0].media_type)


class ApiView(APIView):
    """Views translate and nothing else: input serializer, one call, one response."""

    permission_classes = [HasScope]
    content_negotiation_class = AnyAccept
    reading_scope: ClassVar[str] = "read"
    writing_scope: ClassVar[str] = "write"
    reading_role: ClassVar[Role] = Role.VIEWER
    writing_role: ClassVar[Role] = Role.OPERATOR

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        # A body in chunks has no length, and would be taken for no body at all: a batch of named
        # tasks would become one of all.
        if request.headers.get("Transfer-Encoding") and not request.META.get("CONTENT_LENGTH"):
            request.META["CONTENT_LENGTH"] = "1"
        return super().initialize_request(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        refuse_unstorable(request)

    def role(self) -> Role:
        return self.reading_role if self.request.method in SAFE_METHODS else self.writing_role

    def visible(self) -> QuerySet[Workspace]:
        token: Any = self.request.auth
        limited = token.workspaces.all() if token is not None and token.limited else None
        return visible_workspaces(self.request.user, limited_to=limited)

    def workspace(self) -> Workspace:
        """From ?workspace= (id or name) or ?workspace_path=; the only visible one by default.

        Raises NotFound, Forbidden, ValidationFailed.
        """
        workspace = self._asked_for()
        require_role(self.request.user, workspace, self.role())
        return workspace

    def _asked_for(self) -> Workspace:
        given, path = self.request.GET.get("workspace"), self.request.GET.get("workspace_path")
        rows = self.visible()
        if given:
            rows = rows.filter(id=given) if _is_uuid(given) else rows.filter(name=given)
        elif path:
            rows = rows.filter(repo_path=str(resolved_path(path)))
        found = list(rows[:2])
        if not found:
            raise NotFound("no such workspace")
        if len(found) > 1:
            raise ValidationFailed("say which workspace: ?workspace=ID or ?workspace_path=PATH")
        return found[0]

    def visible_row(
        self, rows: QuerySet[M], row_id: RowId, *, noun: str, through: str = "workspace"
    ) -> M:
        """A row one may see, with the view's role required; `through` leads to its workspace.

        Raises NotFound, Forbidden, and ValidationFailed for the beginning of several ids.
        """
        rows = rows.filter(**{f"{through}__in": self.visible()})
        if isinstance(row_id, str):
            row: M | None = by_prefix(rows, row_id, noun=noun)
        else:
            row = rows.filter(pk=row_id).first()
        if row is None:
            raise NotFound(f"no such {noun}")
        workspace: Any = row
        for name in through.split("__"):
            workspace = getattr(workspace, name)
        require_role(self.request.user, workspace, self.role())
        return row


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
