"""/api/v2/workspaces/{id}/config and /recipe: how the workspace's runs are prepared."""

from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from batches.api.workspaces import WorkspaceBase
from batches.configuration.changing import current, trust_file
from batches.configuration.effective import FileState
from batches.configuration.reading import nested
from batches.models import RecipeCommand
from batches.models.recipe import Decision
from batches.provisioning.recipe import add_command, command_of, decide_command
from tasks.api.describe import describe, paged
from tasks.api.fields import MAX_INT, StrictSerializer, StrictText, read_input
from tasks.api.pages import page_of
from tasks.api.shapes import Shape, maybe, text
from tasks.errors import NotFound

ORDERS = {"created": ("id",), "-created": ("-id",)}


class ConfigFileShape(Shape):
    state = serializers.ChoiceField(choices=[str(state) for state in FileState])
    digest = text(help_text="SHA-256 of the content; empty without a file")
    problem = text(help_text="Why it is not valid")
    content = text()


class ConfigShape(Shape):
    config = serializers.DictField(help_text="What holds, section by section")
    sources = serializers.DictField(child=text(), help_text="file or database, by dotted key")
    file = ConfigFileShape(help_text=".codeframe/config.yaml of the repository's commit")


class RecipeCommandShape(Shape):
    id = serializers.IntegerField()
    command = text()
    decision = serializers.ChoiceField(choices=Decision.values)
    run_id = maybe(serializers.UUIDField, help_text="Whose agent declared it")
    decided_by = maybe(serializers.CharField)
    decided_at = maybe(serializers.DateTimeField)
    created_at = serializers.DateTimeField()


class RecipeShape(Shape):
    commands = RecipeCommandShape(many=True)
    next_cursor = maybe(serializers.CharField)


class ConfigView(WorkspaceBase):
    @describe("read_config", "The configuration that holds, and whence", returns=ConfigShape)
    def get(self, request: Request, workspace_id: UUID) -> Response:
        found = current(self.row(workspace_id))
        file = found.file
        body = {
            "config": nested(found.values),
            "sources": dict(found.sources),
            "file": {
                "state": file.state,
                "digest": file.digest,
                "problem": file.problem,
                "content": file.content.decode(errors="replace").replace("\0", "\ufffd"),
            },
        }
        return Response(body)


class TrustView(WorkspaceBase):
    class Input(StrictSerializer):
        digest = StrictText(max_length=64, min_length=8)

    @describe(
        "trust_config",
        "Let the repository's file hold, as one has read it",
        returns=ConfigFileShape,
        takes=Input,
        errors=(409,),
        example={"digest": "9f86d081884c7d65"},
    )
    def post(self, request: Request, workspace_id: UUID) -> Response:
        workspace = self.row(workspace_id)
        given = read_input(self.Input, request.data)
        by = request.user.get_username()
        file = trust_file(workspace=workspace, digest=given["digest"], by=by)
        content = file.content.decode(errors="replace")
        body = {"state": "trusted", "digest": file.digest, "problem": "", "content": content}
        return Response(body)


class RecipeView(WorkspaceBase):
    class Input(StrictSerializer):
        command = StrictText(max_length=1000)

    @describe(
        "list_recipe",
        "Set-up commands, with what was decided",
        returns=RecipeShape,
        query=paged(ORDERS, default=100, maximum=1000),
    )
    def get(self, request: Request, workspace_id: UUID) -> Response:
        rows = RecipeCommand.objects.filter(workspace=self.row(workspace_id))
        found, cursor = page_of(rows, request, orders=ORDERS, default=100, maximum=1000)
        return Response({"commands": [_command(row) for row in found], "next_cursor": cursor})

    @describe(
        "add_recipe_command",
        "Add a set-up command, approved with that",
        returns=RecipeCommandShape,
        status=201,
        takes=Input,
        errors=(409,),
        example={"command": "pip install -e ."},
    )
    def post(self, request: Request, workspace_id: UUID) -> Response:
        workspace = self.row(workspace_id)
        given = read_input(self.Input, request.data)
        by = request.user.get_username()
        row = add_command(workspace=workspace, text=given["command"], by=by)
        return Response(_command(row), status=201)


class RecipeCommandView(WorkspaceBase):
    class Input(StrictSerializer):
        decision = serializers.ChoiceField(choices=[Decision.APPROVED, Decision.REFUSED])

    @describe(
        "decide_recipe_command",
        "Approve or refuse what an agent has offered",
        returns=RecipeCommandShape,
        takes=Input,
        errors=(409,),
        example={"decision": "approved"},
    )
    def patch(self, request: Request, workspace_id: UUID, command_id: int) -> Response:
        workspace = self.row(workspace_id)
        given = read_input(self.Input, request.data)
        if command_id > MAX_INT:
            raise NotFound("no such set-up command")
        row = command_of(workspace, command_id)
        by = request.user.get_username()
        decide_command(command=row, decision=Decision(given["decision"]), by=by)
        return Response(_command(row))


def _command(row: RecipeCommand) -> dict[str, Any]:
    return {
        "id": row.id,
        "command": row.text,
        "decision": row.decision,
        "run_id": str(row.run_id) if row.run_id else None,
        "decided_by": row.decided_by or None,
        "decided_at": row.decided_at.isoformat() if row.decided_at else None,
        "created_at": row.created_at.isoformat(),
    }
