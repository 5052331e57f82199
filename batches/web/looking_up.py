"""The rows that a page's address names, for whoever may see them."""

from collections.abc import Mapping
from uuid import UUID

from django.http import Http404, HttpRequest

from batches.keys import load_keys
from batches.models import Batch, Run
from tasks.access import require_role, visible_workspaces
from tasks.errors import DomainError
from tasks.models import Workspace
from tasks.models.membership import Role


def asked_id(values: Mapping[str, str], name: str, noun: str) -> UUID | None:
    """None when it is not given. Raises Http404 for what is no id."""
    text = values.get(name, "").strip()
    if not text:
        return None
    try:
        return UUID(text)
    except ValueError:
        raise Http404(f"There is no such {noun}.") from None


def workspace_row(request: HttpRequest, workspace_id: UUID) -> Workspace:
    found = visible_workspaces(request.user).filter(id=workspace_id).first()
    if found is None:
        raise Http404(f"There is no workspace {workspace_id}.")
    return found


def asked_workspace(request: HttpRequest) -> Workspace | None:
    """The one that `?workspace=` names; None when none is asked for."""
    workspace_id = asked_id(request.GET, "workspace", "workspace")
    return workspace_row(request, workspace_id) if workspace_id else None


def batch_row(request: HttpRequest, batch_id: UUID) -> Batch:
    rows = Batch.objects.filter(workspace__in=visible_workspaces(request.user))
    batch = rows.select_related("workspace").filter(id=batch_id).first()
    if batch is None:
        raise Http404(f"There is no batch {batch_id}.")
    return batch


def run_row(request: HttpRequest, run_id: UUID) -> Run:
    """With the secrets known that are to be masked in what its agent left."""
    rows = Run.objects.filter(batch__workspace__in=visible_workspaces(request.user))
    run = rows.select_related("batch__workspace").filter(id=run_id).first()
    if run is None:
        raise Http404(f"There is no run {run_id}.")
    load_keys()
    return run


def may_operate(request: HttpRequest, workspace: Workspace) -> bool:
    try:
        require_role(request.user, workspace, Role.OPERATOR)
    except DomainError:
        return False
    return True
