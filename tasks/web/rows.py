"""The rows that a page's address names, for whoever may see them; and what one may do there."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest

from tasks.access import require_role, visible_workspaces
from tasks.errors import DomainError, Forbidden
from tasks.models import Blocker, Task, Workspace
from tasks.models.membership import Role


def workspace_row(request: HttpRequest, workspace_id: UUID, role: Role = Role.VIEWER) -> Workspace:
    """Raises Http404, and PermissionDenied for who lacks the role."""
    found = visible_workspaces(request.user).filter(id=workspace_id).first()
    if found is None:
        raise Http404(f"There is no workspace {workspace_id}.")
    need(request, found, role)
    return found


def task_row(request: HttpRequest, task_id: UUID, role: Role = Role.VIEWER) -> Task:
    """Raises Http404, and PermissionDenied for who lacks the role."""
    rows = Task.objects.filter(workspace__in=visible_workspaces(request.user))
    found = rows.select_related("workspace", "parent").filter(id=task_id).first()
    if found is None:
        raise Http404(f"There is no task {task_id}.")
    need(request, found.workspace, role)
    return found


def blocker_row(request: HttpRequest, blocker_id: UUID, role: Role = Role.VIEWER) -> Blocker:
    """Raises Http404, and PermissionDenied for who lacks the role."""
    rows = Blocker.objects.filter(task__workspace__in=visible_workspaces(request.user))
    found = rows.select_related("task__workspace").filter(id=blocker_id).first()
    if found is None:
        raise Http404(f"There is no question {blocker_id}.")
    need(request, found.task.workspace, role)
    return found


def need(request: HttpRequest, workspace: Workspace, role: Role) -> None:
    """Raises PermissionDenied."""
    if role != Role.VIEWER and not may(request, workspace, role):
        raise PermissionDenied


def may(request: HttpRequest, workspace: Workspace, role: Role) -> bool:
    try:
        require_role(request.user, workspace, role)
    except DomainError:
        return False
    return True


def say(request: HttpRequest, act: Callable[[], str]) -> bool:
    """What came of it as a message on the next page; False when it was refused."""
    try:
        messages.success(request, act())
    except Forbidden as error:
        raise PermissionDenied from error
    except DomainError as error:
        messages.error(request, error.message)
        return False
    return True
