"""Who may see and do what in a workspace. What one may not see does not exist for one."""

from typing import Any

from django.db.models import QuerySet

from tasks.errors import Forbidden, NotFound
from tasks.models import Membership, Workspace
from tasks.models.membership import RANK, Role


def visible_workspaces(
    user: Any, *, limited_to: QuerySet[Workspace] | None = None
) -> QuerySet[Workspace]:
    """`limited_to` are a token's workspaces, if it is limited at all."""
    rows = Workspace.objects.all()
    if not user.is_superuser:
        rows = rows.filter(memberships__user=user)
    if limited_to is not None:
        rows = rows.filter(id__in=limited_to.values("id"))
    return rows


def require_role(user: Any, workspace: Workspace, role: Role) -> None:
    """Raises NotFound for who is no member, Forbidden for who may only look."""
    if user.is_superuser:
        return
    held = Membership.objects.filter(user=user, workspace=workspace).values_list("role", flat=True)
    rank = max((RANK[Role(name)] for name in held), default=0)
    if not rank:
        raise NotFound("no such workspace")
    if rank < RANK[role]:
        raise Forbidden(f"this needs the role {role} in workspace {workspace.name}")
