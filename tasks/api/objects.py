"""Rows of this app as the API shows them."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from tasks.models import Blocker, Membership, Task, TaskDependency, Workspace

TASK_COLUMNS = (
    "id",
    "workspace_id",
    "key",
    "title",
    "description",
    "status",
    "priority",
    "requirement_ids",
    "estimated_hours",
    "complexity_score",
    "uncertainty_level",
    "expects_changes",
    "parent_id",
    "is_leaf",
    "hierarchical_id",
    "github_issue_number",
    "external_url",
    "auto_close_github_issue",
    "created_at",
    "updated_at",
)

_EDGES = (
    # Only the table's own name is put in, and marks.
    "SELECT task_id, depends_on_id FROM "  # noqa: S608
    f"{TaskDependency._meta.db_table} WHERE task_id IN ({{}}) ORDER BY id"
)


def task_object(task: Task) -> dict[str, Any]:
    return task_objects([{name: getattr(task, name) for name in TASK_COLUMNS}])[0]


def task_objects(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of rows with TASK_COLUMNS, with one query for all dependencies.

    No model instances and no prefetch: for a page of 50 those take longer than all the rest.
    """
    needed = _needed([row["id"] for row in rows])
    return [_task(row, needed.get(row["id"], [])) for row in rows]


def _needed(task_ids: Sequence[UUID]) -> dict[UUID, list[str]]:
    """In SQL: to work it out anew for each number of tasks takes longer than to run it."""
    if not task_ids:
        return {}
    marks = ", ".join(["%s"] * len(task_ids))
    native = connection.features.has_native_uuid_field
    with connection.cursor() as cursor:
        cursor.execute(_EDGES.format(marks), [id if native else id.hex for id in task_ids])
        rows = cursor.fetchall()
    found: dict[UUID, list[str]] = {}
    for task_id, depends_on_id in rows:
        found.setdefault(_uuid(task_id), []).append(str(_uuid(depends_on_id)))
    return found


def _uuid(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)


def _task(row: Mapping[str, Any], depends_on: list[str]) -> dict[str, Any]:
    return {
        **row,
        "id": str(row["id"]),
        "workspace_id": str(row["workspace_id"]),
        "depends_on": depends_on,
        "uncertainty_level": row["uncertainty_level"] or None,
        "parent_id": str(row["parent_id"]) if row["parent_id"] else None,
        "hierarchical_id": row["hierarchical_id"] or None,
        "external_url": row["external_url"] or None,
        "created_at": row["created_at"].isoformat(),
        "updated_at": row["updated_at"].isoformat(),
    }


def blocker_object(blocker: Blocker) -> dict[str, Any]:
    return {
        "id": str(blocker.id),
        "workspace_id": str(blocker.task.workspace_id),
        "task_id": str(blocker.task_id),
        "run_id": str(blocker.run_id) if blocker.run_id else None,
        "status": blocker.status,
        "reason": blocker.reason,
        "question": blocker.question,
        "answer": blocker.answer or None,
        "answered_by": blocker.answered_by or None,
        "created_by": "system" if blocker.run_id else "human",
        "created_at": blocker.created_at.isoformat(),
        "answered_at": blocker.answered_at.isoformat() if blocker.answered_at else None,
    }


def member_object(member: Membership) -> dict[str, Any]:
    """Reads `user` as selected along."""
    return {
        "username": member.user.get_username(),
        "role": member.role,
        "created_at": member.created_at.isoformat(),
    }


def workspace_object(workspace: Workspace) -> dict[str, Any]:
    return {
        "id": str(workspace.id),
        "name": workspace.name,
        "repo_path": workspace.repo_path,
        "host": workspace.host or None,
        "gates": workspace.gates,
        "gates_waived": workspace.gates_waived,
        "config": workspace.config,
        "created_at": workspace.created_at.isoformat(),
        "updated_at": workspace.updated_at.isoformat(),
    }
