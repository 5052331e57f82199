"""Rows of this app as the API shows them."""

from typing import Any

from tasks.models import Blocker, Event, Membership, Task, Workspace


def task_object(task: Task) -> dict[str, Any]:
    """Reads `dependency_edges` as prefetched, so a list costs a constant number of queries."""
    return {
        "id": str(task.id),
        "workspace_id": str(task.workspace_id),
        "key": task.key,
        "title": task.title,
        "description": task.description,
        "status": task.status,
        "priority": task.priority,
        "depends_on": [str(edge.depends_on_id) for edge in task.dependency_edges.all()],
        "requirement_ids": task.requirement_ids,
        "estimated_hours": task.estimated_hours,
        "complexity_score": task.complexity_score,
        "uncertainty_level": task.uncertainty_level or None,
        "expects_changes": task.expects_changes,
        "parent_id": str(task.parent_id) if task.parent_id else None,
        "is_leaf": task.is_leaf,
        "hierarchical_id": task.hierarchical_id or None,
        "github_issue_number": task.github_issue_number,
        "external_url": task.external_url or None,
        "auto_close_github_issue": task.auto_close_github_issue,
        "created_at": task.created_at.isoformat(),
        "updated_at": task.updated_at.isoformat(),
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


def event_object(event: Event) -> dict[str, Any]:
    """`id` and `event_type` are what older programs call `seq` and `type`."""
    return {
        "id": event.seq,
        "seq": event.seq,
        "type": event.type,
        "event_type": event.type,
        "workspace_id": str(event.workspace_id),
        "task_id": str(event.task_id) if event.task_id else None,
        "batch_id": str(event.batch_id) if event.batch_id else None,
        "run_id": str(event.run_id) if event.run_id else None,
        "payload": event.payload,
        "created_at": event.created_at.isoformat(),
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
