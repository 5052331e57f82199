"""What every view of the API shares: scopes, the workspace asked for, roles, strict input."""

from typing import Any, ClassVar, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet
from rest_framework import serializers
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from tasks.access import Forbidden, require_role, visible_workspaces
from tasks.errors import NotFound, ValidationFailed
from tasks.models import Workspace
from tasks.models.membership import Role
from tasks.workspaces.registry import resolved_path

M = TypeVar("M", bound=Model)
SCOPES = {"read": 1, "write": 2, "admin": 3}
MAX_INT = 2**31 - 1


class HasScope(BasePermission):
    """Reading needs read, changing needs write; a view may ask for more. Sessions have all."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not request.user or not request.user.is_authenticated:
            return False
        held = getattr(request.auth, "scope", "admin")
        needed = getattr(view, "scope", None) or (
            "read" if request.method in SAFE_METHODS else "write"
        )
        if SCOPES[held] < SCOPES[needed]:
            raise Forbidden(f"this token has the scope {held}; this needs {needed}")
        return True


class ApiView(APIView):
    """Views translate and nothing else: input serializer, one call, one response."""

    permission_classes = [HasScope]
    reading_role: ClassVar[Role] = Role.VIEWER
    writing_role: ClassVar[Role] = Role.OPERATOR

    def role(self) -> Role:
        return self.reading_role if self.request.method in SAFE_METHODS else self.writing_role

    def visible(self) -> QuerySet[Workspace]:
        token: Any = self.request.auth
        limited = token.workspaces.all() if token is not None else None
        if limited is not None and not limited.exists():
            limited = None
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

    def visible_row(self, rows: QuerySet[M], row_id: UUID, *, noun: str) -> M:
        """A row with a `workspace`, if one may see it; the view's role is required in it."""
        row = rows.filter(pk=row_id, workspace__in=self.visible()).first()
        if row is None:
            raise NotFound(f"no such {noun}")
        require_role(self.request.user, row.workspace, self.role())  # type: ignore[attr-defined]
        return row


def read_input(serializer: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
    """Validated; DRF's ValidationError becomes 422 in the one error shape."""
    bound = serializer(data=data)
    bound.is_valid(raise_exception=True)
    return dict(bound.validated_data)


class StrictSerializer(serializers.Serializer[Any]):
    """Unknown fields are refused: a misspelt option must not be ignored in silence."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = sorted(str(name) for name in data.keys() - self.fields.keys())
            if unknown:
                raise serializers.ValidationError(
                    {name: ["there is no such field"] for name in unknown}
                )
        return super().to_internal_value(data)


class StrictInteger(serializers.IntegerField):
    """No booleans, no texts, no fractions."""

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            self.fail("invalid")
        return int(super().to_internal_value(data))


class StrictBoolean(serializers.BooleanField):
    def to_internal_value(self, data: Any) -> bool:
        if type(data) is not bool:
            self.fail("invalid", input=data)
        return bool(data)


class StrictText(serializers.CharField):
    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
