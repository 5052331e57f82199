"""/api/v2/workspaces: the repositories one may see; registering, changing, forgetting them."""

from typing import cast
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from batches.configuration.changing import set_config
from batches.deletion import remove_workspace
from tasks.access import require_role
from tasks.api.base import ApiView
from tasks.api.describe import WORKSPACE, asked, describe, paged
from tasks.api.fields import StrictBoolean, StrictSerializer, StrictText, read_input
from tasks.api.objects import workspace_object
from tasks.api.pages import page_of
from tasks.api.query import refuse, yes_or_no
from tasks.api.shapes import WorkspaceExistsShape, WorkspaceListShape, WorkspaceShape
from tasks.errors import Forbidden, NotFound
from tasks.models import Workspace
from tasks.models.membership import Role
from tasks.workspaces.registry import add_workspace, change_workspace, jailed_path, resolved_path

ORDERS = {"name": ("name",), "created": ("created_at", "id"), "-created": ("-created_at", "id")}


class WorkspacesView(ApiView):
    writing_scope = "admin"

    class Input(StrictSerializer):
        repo_path = StrictText(max_length=4000)
        name = StrictText(max_length=100, default="", allow_blank=True)
        gates_waived = StrictBoolean(default=False)

    @describe(
        "list_workspaces",
        "The workspaces one may see",
        returns=WorkspaceListShape,
        query=[
            asked("q", "Only with these letters in the name"),
            *paged(ORDERS, default=100, maximum=1000),
        ],
    )
    def get(self, request: Request) -> Response:
        rows = self.visible()
        if words := request.GET.get("q"):
            rows = rows.filter(name__icontains=words)
        found, cursor = page_of(rows, request, orders=ORDERS, default=100, maximum=1000)
        body = {"workspaces": [workspace_object(w) for w in found], "next_cursor": cursor}
        return Response(body)

    @describe(
        "create_workspace",
        "Register a repository below the allowed folders; one becomes its admin",
        returns=WorkspaceShape,
        status=201,
        takes=Input,
        errors=(409,),
        example={"repo_path": "/srv/repos/shop", "name": "shop"},
    )
    def post(self, request: Request) -> Response:
        if getattr(request.auth, "limited", False):
            raise Forbidden("this token is limited to some workspaces; it registers none")
        given = read_input(self.Input, request.data)
        path = jailed_path(given["repo_path"])
        user = cast("User", request.user)
        workspace = add_workspace(
            path=str(path),
            name=given["name"],
            gates_waived=given["gates_waived"],
            jailed=True,
            owner=user,
            by=user.username,
        )
        return Response(
            workspace_object(workspace),
            status=201,
            headers={"Location": f"/api/v2/workspaces/{workspace.id}"},
        )


class CurrentWorkspaceView(ApiView):
    @describe(
        "current_workspace",
        "The workspace that the other requests mean",
        returns=WorkspaceShape,
        query=WORKSPACE,
    )
    def get(self, request: Request) -> Response:
        return Response(workspace_object(self.workspace()))


class WorkspaceExistsView(ApiView):
    @describe(
        "workspace_exists",
        "Whether one sees a workspace at this path",
        returns=WorkspaceExistsShape,
        query=[asked("repo_path", "The repository's path", required=True)],
    )
    def get(self, request: Request) -> Response:
        path = request.GET.get("repo_path", "")
        if not path:
            refuse("repo_path", "is missing")
        found = self.visible().filter(repo_path=str(resolved_path(path))).first()
        body = {"exists": found is not None, "workspace_id": str(found.id) if found else None}
        return Response(body)


class WorkspaceBase(ApiView):
    writing_scope = "admin"
    writing_role = Role.ADMIN

    def row(self, workspace_id: UUID) -> Workspace:
        workspace = self.visible().filter(id=workspace_id).first()
        if workspace is None:
            raise NotFound("no such workspace")
        require_role(self.request.user, workspace, self.role())
        return workspace


class WorkspaceView(WorkspaceBase):
    class Input(StrictSerializer):
        name = StrictText(max_length=100, required=False)
        gates_waived = StrictBoolean(required=False)
        config = serializers.DictField(
            required=False, help_text="All keys of the database's part, docs/configuration.md"
        )

    @describe("read_workspace", "One workspace", returns=WorkspaceShape)
    def get(self, request: Request, workspace_id: UUID) -> Response:
        return Response(workspace_object(self.row(workspace_id)))

    @describe(
        "change_workspace",
        "Rename it, declare that results need no gates, or set its configuration",
        returns=WorkspaceShape,
        takes=Input,
        errors=(409,),
        example={"gates_waived": True},
    )
    def patch(self, request: Request, workspace_id: UUID) -> Response:
        workspace = self.row(workspace_id)
        given = read_input(self.Input, request.data)
        by = request.user.get_username()
        config = given.pop("config", None)
        with transaction.atomic():
            if config is not None:
                set_config(workspace=workspace, config=config, by=by)
            if given:
                change_workspace(workspace=workspace, changes=given, by=by)
        return Response(workspace_object(workspace))

    @describe(
        "delete_workspace",
        "Forget it; the repository stays as it is",
        status=204,
        errors=(409,),
        query=[asked("delete_history", "true where batches were recorded", bool)],
    )
    def delete(self, request: Request, workspace_id: UUID) -> Response:
        workspace = self.row(workspace_id)
        remove_workspace(
            workspace=workspace,
            with_history=bool(yes_or_no(request, "delete_history")),
            by=request.user.get_username(),
        )
        return Response(status=204)
