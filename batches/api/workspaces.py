"""/api/v2/workspaces: the repositories one may see; registering and forgetting them."""

from typing import cast
from uuid import UUID

from django.contrib.auth.models import User
from rest_framework.request import Request
from rest_framework.response import Response

from batches.deletion import remove_workspace
from tasks.access import Forbidden, require_role
from tasks.api.base import ApiView, StrictBoolean, StrictSerializer, StrictText, read_input
from tasks.api.objects import workspace_object
from tasks.api.pages import page_of
from tasks.errors import NotFound
from tasks.models import Membership, Workspace
from tasks.models.membership import Role
from tasks.workspaces.registry import add_workspace, in_roots, resolved_path


class WorkspacesView(ApiView):
    class Input(StrictSerializer):
        repo_path = StrictText(max_length=4000)
        name = StrictText(max_length=100, default="", allow_blank=True)
        gates_waived = StrictBoolean(default=False)

    def get(self, request: Request) -> Response:
        found, cursor = page_of(self.visible(), request, order=("name",), default=100, maximum=1000)
        body = {"workspaces": [workspace_object(w) for w in found], "next_cursor": cursor}
        return Response(body)

    def post(self, request: Request) -> Response:
        """Below the allowed roots, after links are resolved; whoever registers it is its admin."""
        given = read_input(self.Input, request.data)
        path = resolved_path(given["repo_path"])
        if not in_roots(path):
            raise Forbidden("this path is outside of the folders that may be registered")
        workspace = add_workspace(
            path=str(path), name=given["name"], gates_waived=given["gates_waived"]
        )
        Membership.objects.create(
            workspace=workspace, user=cast("User", request.user), role=Role.ADMIN
        )
        return Response(
            workspace_object(workspace),
            status=201,
            headers={"Location": f"/api/v2/workspaces/{workspace.id}"},
        )


class WorkspaceView(ApiView):
    writing_role = Role.ADMIN

    def get(self, request: Request, workspace_id: UUID) -> Response:
        return Response(workspace_object(self.row(workspace_id)))

    def delete(self, request: Request, workspace_id: UUID) -> Response:
        """Forgets it; the repository stays. `?delete_history=true` where batches were recorded."""
        workspace = self.row(workspace_id)
        with_history = request.GET.get("delete_history") == "true"
        remove_workspace(workspace=workspace, with_history=with_history)
        return Response(status=204)

    def row(self, workspace_id: UUID) -> Workspace:
        workspace = self.visible().filter(id=workspace_id).first()
        if workspace is None:
            raise NotFound("no such workspace")
        require_role(self.request.user, workspace, self.role())
        return workspace
