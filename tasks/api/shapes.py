"""What this app's answers look like, for the OpenAPI document; tests hold answers to it."""

from typing import Any

from drf_spectacular.utils import inline_serializer
from rest_framework import serializers

from tasks.models.blocker import BlockerStatus
from tasks.models.membership import Role
from tasks.models.task import TaskStatus, Uncertainty

Shape = serializers.Serializer[Any]


def text(**extra: Any) -> serializers.CharField:
    return serializers.CharField(**extra)


def maybe(field: type[serializers.Field[Any, Any, Any, Any]], **extra: Any) -> Any:
    """That, or null."""
    return field(allow_null=True, **extra)


def texts() -> serializers.ListField:
    return serializers.ListField(child=serializers.CharField())


def ids() -> serializers.ListField:
    return serializers.ListField(child=serializers.UUIDField())


def tally() -> serializers.DictField:
    """How many of each status; those with none are left out."""
    return serializers.DictField(child=serializers.IntegerField())


# A serializer has an attribute named errors, so this one is not written as a class.
ErrorBody = inline_serializer(
    "ErrorBody",
    {
        "error": text(help_text="Short, without particulars"),
        "code": text(help_text="For programs"),
        "detail": maybe(serializers.CharField, help_text="What and where, in one sentence"),
        "errors": serializers.DictField(
            child=texts(), required=False, help_text="Bad fields, each with its sentences"
        ),
    },
)


class ErrorShape(Shape):
    detail = ErrorBody


class TaskShape(Shape):
    id = serializers.UUIDField()
    workspace_id = serializers.UUIDField()
    key = text()
    title = text()
    description = text()
    status = serializers.ChoiceField(choices=TaskStatus.values)
    priority = serializers.IntegerField(help_text="0 is the highest")
    depends_on = ids()
    requirement_ids = texts()
    estimated_hours = maybe(serializers.FloatField)
    complexity_score = maybe(serializers.IntegerField)
    uncertainty_level = maybe(serializers.ChoiceField, choices=Uncertainty.values)
    expects_changes = serializers.BooleanField()
    parent_id = maybe(serializers.UUIDField)
    is_leaf = serializers.BooleanField()
    hierarchical_id = maybe(serializers.CharField)
    github_issue_number = maybe(serializers.IntegerField)
    external_url = maybe(serializers.CharField)
    auto_close_github_issue = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class TaskListShape(Shape):
    tasks = TaskShape(many=True)
    total = serializers.IntegerField(help_text="That match, on all pages")
    by_status = tally()
    next_cursor = maybe(serializers.CharField)


class BlockerShape(Shape):
    id = serializers.UUIDField()
    workspace_id = serializers.UUIDField()
    task_id = serializers.UUIDField()
    run_id = maybe(serializers.UUIDField)
    status = serializers.ChoiceField(choices=BlockerStatus.values)
    reason = text()
    question = text()
    answer = maybe(serializers.CharField)
    answered_by = maybe(serializers.CharField)
    created_by = serializers.ChoiceField(choices=["human", "system"])
    created_at = serializers.DateTimeField()
    answered_at = maybe(serializers.DateTimeField)


class BlockerListShape(Shape):
    blockers = BlockerShape(many=True)
    total = serializers.IntegerField()
    by_status = tally()
    next_cursor = maybe(serializers.CharField)


class EventShape(Shape):
    v = serializers.IntegerField(help_text="Version of this shape: 1")
    id = serializers.IntegerField(help_text="The same as seq")
    seq = serializers.IntegerField(help_text="The cursor: rising, without gaps, in a workspace")
    type = text()
    event_type = text(help_text="The same as type")
    workspace_id = serializers.UUIDField()
    task_id = maybe(serializers.UUIDField)
    batch_id = maybe(serializers.UUIDField)
    run_id = maybe(serializers.UUIDField)
    payload = serializers.DictField()
    created_at = serializers.DateTimeField()


class EventListShape(Shape):
    events = EventShape(many=True)
    next_after = serializers.IntegerField(help_text="`after` of the next request")
    last_seq = serializers.IntegerField(help_text="Of the workspace's newest event")


class WorkspaceShape(Shape):
    id = serializers.UUIDField()
    name = text()
    repo_path = text()
    host = maybe(serializers.CharField)
    gates = serializers.ListField(child=serializers.DictField())
    gates_waived = serializers.BooleanField()
    config = serializers.DictField(help_text="The database's part, by dotted key")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class WorkspaceListShape(Shape):
    workspaces = WorkspaceShape(many=True)
    next_cursor = maybe(serializers.CharField)


class WorkspaceExistsShape(Shape):
    exists = serializers.BooleanField()
    workspace_id = maybe(serializers.UUIDField)


class MemberShape(Shape):
    username = text()
    role = serializers.ChoiceField(choices=Role.values)
    created_at = serializers.DateTimeField()


class MemberListShape(Shape):
    members = MemberShape(many=True)
    next_cursor = maybe(serializers.CharField)
