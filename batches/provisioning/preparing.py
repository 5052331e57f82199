"""Environments for one tree: what its commit asks for, each found or built, and brought to it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from batches import paths
from batches.engines.template import parse_command
from batches.integration.removal import remove_folder
from batches.models import Batch, Run
from batches.provisioning import environments
from batches.provisioning.building import Order, Ready, environment, refuse_full_disk
from batches.provisioning.detect import MAX_BYTES, find_needs, looked_at
from batches.provisioning.replay import PYTHON_KINDS
from batches.provisioning.setup_command import SetupCommand
from batches.provisioning.steps import Steps
from batches.provisioning.surroundings import Surroundings
from batches.provisioning.tools.base import Need
from tasks.workspaces.files import read_files
from tasks.workspaces.store import Store


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a tree is to get. `own`: as copies that only this tree has."""

    needs: list[Need]
    own: bool
    probes: tuple[tuple[str, ...], ...]


def make_plan(store: Store, commit: str, config: dict[str, Any], setup: list[SetupCommand]) -> Plan:
    """Reads the commit by git. Raises NeedRefused and GitError."""
    tools = config.get("environment.tools", "auto")
    files: dict[str, bytes] = {}
    if tools != "none":
        files = read_files(store, commit, looked_at(), max_bytes=MAX_BYTES)
    needs = find_needs(tools, files, lambda name: _one(store, commit, name))
    kinds = {command.kind for command in setup}
    if kinds & set(PYTHON_KINDS) and not any(need.tool in PYTHON_KINDS for need in needs):
        needs.insert(0, Need(tool="pip"))
    probes = tuple(tuple(parse_command(text)) for text in config.get("environment.probe", ()))
    own = bool(setup) or bool(config.get("environment.copy"))
    # What set-up completes can only be probed after it.
    return Plan(needs=needs, own=own, probes=() if setup else probes)


def _one(store: Store, commit: str, name: str) -> bytes | None:
    return read_files(store, commit, [name], max_bytes=MAX_BYTES).get(name)


def prepare(
    plan: Plan,
    *,
    batch: Batch,
    run: Run | None,
    tree: Path,
    own: Path,
    steps: Steps,
    note: Callable[[list[dict[str, Any]]], None],
    on_wait: Callable[[], None],
) -> Surroundings:
    """`note` writes down what is used while it cannot be removed.

    Raises BuildFailed, DiskTooFull, OSError and what the steps' `check` raises.
    """
    remove_folder(own)
    used: list[dict[str, Any]] = []
    for need in plan.needs:
        order = Order(
            home=paths.environments_dir(batch.workspace_id),
            need=need,
            steps=steps,
            disk_floor=settings.DISK_FLOOR_BYTES,
            probes=plan.probes if need is plan.needs[-1] else (),
            on_wait=on_wait,
        )
        with environment(order) as ready:
            used.append({"tool": need.tool, "key": ready.key, "own": plan.own})
            note(used)
            environments.note_use(
                ready, workspace_id=batch.workspace_id, run=run, batch_id=batch.id
            )
            _place(ready, plan, tree=tree, own=own, steps=steps)
    return environments.surroundings(used, workspace_id=batch.workspace_id, own=own, tree=tree)


def _place(ready: Ready, plan: Plan, *, tree: Path, own: Path, steps: Steps) -> None:
    copy = own / ready.tool.ecosystem if plan.own else None
    if copy is not None:
        copy.mkdir(mode=0o700, parents=True, exist_ok=True)
        refuse_full_disk(copy, settings.DISK_FLOOR_BYTES)
    ready.tool.place(ready.folder, tree, copy, steps.check)
