"""Which repositories codeframe works on."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from tasks.errors import Conflict, ValidationFailed
from tasks.models import EventCounter, Workspace
from tasks.workspaces.git import GitError
from tasks.workspaces.inspection import inspect

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


def add_workspace(
    *,
    path: str,
    name: str = "",
    gates: Sequence[dict[str, Any]] = (),
    gates_waived: bool = False,
    host: str = "",
) -> Workspace:
    """Looks at the repository and runs nothing of it. Raises ValidationFailed or Conflict."""
    where = resolved_path(path)
    try:
        repository = inspect(where)
    except GitError as error:
        raise ValidationFailed(str(error)) from error
    name = name or _free_name(repository.path.name)
    if not _NAME.fullmatch(name):
        raise ValidationFailed(
            f"{name!r} cannot name a workspace: letters, digits, dash and underscore, up to 100"
        )
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
    except IntegrityError as error:
        raise Conflict(_taken(name, repository.path)) from error
    return workspace


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
