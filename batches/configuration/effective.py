"""A workspace's configuration as it holds: the database's keys over those of a trusted file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from batches import paths
from batches.configuration.keys import KEYS
from batches.configuration.reading import (
    MAX_BYTES,
    PATH,
    ConfigInvalid,
    check_config,
    digest_of,
    nested,
    read_config,
)
from batches.models.recipe import Decision, RecipeCommand
from batches.models.trust import TrustedConfig
from batches.provisioning.setup_command import MOST_COMMANDS
from tasks.models import Workspace
from tasks.workspaces.files import read_files
from tasks.workspaces.git import open_store
from tasks.workspaces.store import Repository

MERGED = ("gates", "protected_paths")
"""Lists of both, not one in the place of the other."""


class FileState(StrEnum):
    NONE = "none"
    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"
    INVALID = "invalid"


@dataclass(frozen=True, kw_only=True)
class ConfigFile:
    """`.codeframe/config.yaml` of one commit; `values` only where it is valid."""

    state: FileState
    digest: str = ""
    problem: str = ""
    content: bytes = b""
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Effective:
    """`values` has every key; `sources` says of those that are set whence."""

    values: Mapping[str, Any]
    sources: Mapping[str, str]
    file: ConfigFile

    def as_json(self) -> dict[str, Any]:
        """What a batch keeps."""
        return {
            "values": dict(self.values),
            "file": {
                "state": self.file.state,
                "digest": self.file.digest,
                "problem": self.file.problem,
            },
        }


def file_at(workspace: Workspace, repository: Repository, commit: str) -> ConfigFile:
    """Read by git from the commit; a working tree has no say. Raises GitError."""
    store = open_store(paths.store_dir(workspace.id), repository)
    content = read_files(store, commit, [PATH], max_bytes=16 * MAX_BYTES).get(PATH)
    if content is None:
        return ConfigFile(state=FileState.NONE)
    digest = digest_of(content)
    try:
        values = read_config(content)
    except ConfigInvalid as error:
        return ConfigFile(
            state=FileState.INVALID, digest=digest, problem=str(error), content=content
        )
    trusted = TrustedConfig.objects.filter(workspace=workspace, digest=digest).exists()
    state = FileState.TRUSTED if trusted else FileState.UNTRUSTED
    return ConfigFile(state=state, digest=digest, content=content, values=values)


def effective(workspace: Workspace, repository: Repository) -> Effective:
    """At the commit that the repository stands on. Raises ConfigInvalid for the database's part."""
    file = file_at(workspace, repository, repository.commit)
    ours = check_config(nested(workspace.config))
    theirs = file.values if file.state is FileState.TRUSTED else {}
    values = {key.name: key.default for key in KEYS} | dict(theirs) | ours
    for name in MERGED:
        values[name] = merged(theirs.get(name, []), ours.get(name, []))
    values["setup.commands"] = _with_recipe(workspace, values["setup.commands"])
    sources = dict.fromkeys(theirs, "file") | dict.fromkeys(ours, "database")
    return Effective(values=values, sources=sources, file=file)


def merged(below: Sequence[Any], above: Sequence[Any]) -> list[Any]:
    """Of two gates with one name the one above holds."""
    taken = {_identity(item) for item in above}
    return [item for item in below if _identity(item) not in taken] + list(above)


def _identity(item: Any) -> str:
    return str(item["name"] if isinstance(item, dict) else item)


def _with_recipe(workspace: Workspace, commands: list[str]) -> list[str]:
    approved = RecipeCommand.objects.filter(workspace=workspace, decision=Decision.APPROVED)
    texts = approved.order_by("id").values_list("text", flat=True)
    return list(dict.fromkeys([*commands, *texts]))[:MOST_COMMANDS]
