"""Which repositories codeframe works on."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from tasks.audit import audit
from tasks.errors import Conflict, Forbidden, NotFound, ValidationFailed
from tasks.members import set_member
from tasks.models import EventCounter, Workspace
from tasks.models.membership import Role
from tasks.workspaces.git import GitError
from tasks.workspaces.inspection import inspect

OUTSIDE = "this path is outside of the folders that may be registered"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def resolved_path(text: str) -> Path:
    """Absolute, with links resolved; it need not exist."""
    try:
        return Path(text).expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ValidationFailed(f"{text!r} is not a path: {error}") from error


def in_roots(path: Path) -> bool:
    """Whether a resolved path lies below one of WORKSPACE_ROOTS; no roots means nowhere."""
    return any(path.is_relative_to(resolved_path(root)) for root in settings.WORKSPACE_ROOTS)


def jailed_path(text: str) -> Path:
    """A folder that is there. Raises Forbidden without looking when it lies outside of the roots.

    Raises NotFound for one that is not there.
    """
    path = resolved_path(text)
    if not in_roots(path):
        raise Forbidden(OUTSIDE)
    if not path.is_dir():
        raise NotFound("there is no such folder")
    return path


def add_workspace(
    *,
    path: str,
    name: str = "",
    gates: Sequence[dict[str, Any]] = (),
    gates_waived: bool = False,
    host: str = "",
    jailed: bool = False,
    owner: User | None = None,
    by: str = "",
) -> Workspace:
    """Looks at the repository and runs nothing of it. Raises ValidationFailed or Conflict.

    `jailed`: Forbidden for one whose git directory lies outside of the allowed roots, too.
    `owner` becomes its admin.
    """
    where = resolved_path(path)
    try:
        repository = inspect(where)
    except GitError as error:
        raise ValidationFailed(str(error)) from error
    folders = (repository.path, repository.git_dir, repository.common_dir)
    if jailed and not all(in_roots(folder.resolve()) for folder in folders):
        raise Forbidden(OUTSIDE)
    name = name or _free_name(repository.path.name)
    _refuse_name(name)
    try:
        with transaction.atomic():
            workspace = Workspace.objects.create(
                name=name,
                repo_path=str(repository.path),
                gates=list(gates),
                gates_waived=gates_waived,
                host=host,
            )
            EventCounter.objects.create(workspace=workspace)
            audit(by, "workspace.create", name, {"path": workspace.repo_path})
            if owner is not None:
                set_member(workspace=workspace, user=owner, role=Role.ADMIN, by=by)
    except IntegrityError as error:
        raise Conflict(_taken(name, repository.path)) from error
    return workspace


def change_workspace(*, workspace: Workspace, changes: dict[str, Any], by: str) -> None:
    """Raises ValidationFailed or Conflict."""
    before = workspace.name
    for field, value in changes.items():
        setattr(workspace, field, value)
    _refuse_name(workspace.name)
    try:
        with transaction.atomic():
            workspace.save(update_fields=[*changes, "updated_at"])
            audit(by, "workspace.change", before, changes)
    except IntegrityError as error:
        raise Conflict(f"a workspace named {workspace.name} exists already") from error


def _refuse_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValidationFailed(
            f"{name!r} cannot name a workspace: letters, digits, dash and underscore, up to 100",
            fields={"name": ["letters, digits, dash and underscore, up to 100"]},
        )


def _free_name(wanted: str) -> str:
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", wanted).strip("-_")[:90] or "workspace"
    taken = set(Workspace.objects.filter(name__startswith=stem).values_list("name", flat=True))
    if stem not in taken:
        return stem
    return next(f"{stem}-{n}" for n in range(2, len(taken) + 3) if f"{stem}-{n}" not in taken)


def _taken(name: str, path: Path) -> str:
    same = Workspace.objects.filter(repo_path=str(path)).first()
    if same:
        return f"{path} is registered already, as {same.name}"
    return f"a workspace named {name} exists already"
