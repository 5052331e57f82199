"""Changing the database's part of the configuration, and trusting a file's content."""

from pathlib import Path
from typing import Any

from django.db import transaction

from batches.configuration.effective import ConfigFile, Effective, FileState, effective, file_at
from batches.configuration.reading import ConfigInvalid, check_config
from batches.models import TrustedConfig
from tasks.audit import audit
from tasks.errors import Conflict, NotFound, ValidationFailed
from tasks.events import types
from tasks.events.log import record_one
from tasks.models import Workspace
from tasks.text import clip
from tasks.workspaces.git import GitError
from tasks.workspaces.inspection import inspect


def set_config(*, workspace: Workspace, config: Any, by: str) -> None:
    """All of the database's part, as sections. Raises ValidationFailed naming every bad key."""
    try:
        values = check_config(config)
    except ConfigInvalid as error:
        fields = {f"config.{name}": told for name, told in error.problems.items()}
        raise ValidationFailed(f"config: {error}", fields=fields) from error
    with transaction.atomic():
        row = Workspace.objects.select_for_update(no_key=True).get(id=workspace.id)
        changed = sorted(
            name for name in {*row.config, *values} if row.config.get(name) != values.get(name)
        )
        row.config = values
        row.save(update_fields=["config", "updated_at"])
        audit(by, "workspace.config", row.name, {"keys": changed})
        record_one(
            workspace_id=row.id, type=types.CONFIG_CHANGED, payload={"keys": changed, "by": by}
        )
    workspace.config = values


def current(workspace: Workspace) -> Effective:
    """Of the commit that the repository stands on. Raises ValidationFailed."""
    try:
        return effective(workspace, inspect(Path(workspace.repo_path)))
    except GitError as error:
        raise ValidationFailed(str(error)) from error
    except ConfigInvalid as error:
        raise ValidationFailed(f"config: {error}") from error


def trust_file(*, workspace: Workspace, digest: str, by: str) -> ConfigFile:
    """The content that the repository's commit has now, if that is what the person has read.

    `digest` may be its beginning. Raises NotFound, Conflict and ValidationFailed.
    """
    try:
        repository = inspect(Path(workspace.repo_path))
        file = file_at(workspace, repository, repository.commit)
    except GitError as error:
        raise ValidationFailed(str(error)) from error
    if file.state is FileState.NONE:
        raise NotFound(f"{workspace.repo_path} has no .codeframe/config.yaml in its commit")
    if file.state is FileState.INVALID:
        raise ValidationFailed(f".codeframe/config.yaml: {file.problem}")
    if len(digest) < 8 or not file.digest.startswith(digest.lower()):
        raise Conflict(
            f"the file's content is {file.digest[:12]} now, not {clip(digest, 70)!r}; read it again"
        )
    with transaction.atomic():
        TrustedConfig.objects.get_or_create(
            workspace=workspace, digest=file.digest, defaults={"trusted_by": clip(by, 200)}
        )
        audit(by, "workspace.trust", workspace.name, {"digest": file.digest})
        record_one(
            workspace_id=workspace.id,
            type=types.CONFIG_TRUSTED,
            payload={"digest": file.digest, "by": by},
        )
    return file
