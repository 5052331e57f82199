"""/api/v2/workspaces/{id}/members: who may do what in it. For its admins."""

from uuid import UUID

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from batches.api.workspaces import WorkspaceBase
from tasks.api.describe import describe, paged
from tasks.api.fields import StrictSerializer, read_input
from tasks.api.objects import member_object
from tasks.api.pages import page_of
from tasks.api.shapes import MemberListShape, MemberShape
from tasks.members import remove_member, set_member, user_named
from tasks.models import Membership
from tasks.models.membership import Role

ORDERS = {"created": ("created_at", "id"), "-created": ("-created_at", "id")}


class MembersView(WorkspaceBase):
    reading_scope = "admin"
    reading_role = Role.ADMIN

    @describe(
        "list_members",
        "Who belongs to a workspace",
        returns=MemberListShape,
        query=paged(ORDERS, default=100, maximum=1000),
    )
    def get(self, request: Request, workspace_id: UUID) -> Response:
        rows = Membership.objects.filter(workspace=self.row(workspace_id)).select_related("user")
        found, cursor = page_of(rows, request, orders=ORDERS, default=100, maximum=1000)
        return Response({"members": [member_object(m) for m in found], "next_cursor": cursor})


class MemberView(WorkspaceBase):
    class Input(StrictSerializer):
        role = serializers.ChoiceField(choices=Role.values)

    @describe(
        "set_member",
        "Let somebody in, or change the role",
        returns=MemberShape,
        takes=Input,
        example={"role": "operator"},
    )
    def put(self, request: Request, workspace_id: UUID, username: str) -> Response:
        workspace = self.row(workspace_id)
        role = Role(read_input(self.Input, request.data)["role"])
        user = user_named(username)
        by = request.user.get_username()
        return Response(member_object(set_member(workspace=workspace, user=user, role=role, by=by)))

    @describe("remove_member", "Let somebody in no more", status=204)
    def delete(self, request: Request, workspace_id: UUID, username: str) -> Response:
        workspace = self.row(workspace_id)
        by = request.user.get_username()
        remove_member(workspace=workspace, user=user_named(username), by=by)
        return Response(status=204)
