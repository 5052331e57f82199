"""Environments and set-up for the tree that a batch is validated on: as for a run, without one."""

from pathlib import Path
from typing import Any

from django.conf import settings

from batches import paths
from batches.checking import stop_request_of
from batches.integration.removal import remove_folder
from batches.lease import Lease
from batches.models import Batch
from batches.persist import persist
from batches.place import Place
from batches.provisioning import environments
from batches.provisioning.building import BuildFailed, DiskTooFull, with_way_out
from batches.provisioning.preparing import make_plan, prepare
from batches.provisioning.replay import Ground, SetupFailed, replay
from batches.provisioning.setup_command import SetupCommand, SetupRefused, parse_all
from batches.provisioning.setup_policy import policy
from batches.provisioning.steps import Steps, end_left_over
from batches.provisioning.surroundings import NOTHING, Surroundings
from batches.provisioning.tools.base import NeedRefused
from batches.scope import StopScope
from batches.stages.setup import COMMAND_S

TIMEOUT_S = 1800


class OutfitFailed(Exception):
    """The integrated tree cannot be worked in; the message says why."""


def outfit(
    place: Place, lease: Lease, scope: StopScope, *, tree: Path, commit: str
) -> Surroundings:
    """Raises OutfitFailed, GitError, Stopped and LetGo."""
    batch = place.batch
    values = batch.config.get("values", {})
    try:
        commands = parse_all(values.get("setup.commands", []), policy())
        plan = make_plan(place.store, commit, values, commands)
        if not plan.needs and not commands:
            return NOTHING
        steps = _steps(batch, scope, values)
        own = _own(batch)
        found = prepare(
            plan,
            batch=batch,
            run=None,
            tree=tree,
            own=own,
            steps=steps,
            note=lambda used: _note(batch, lease, used),
            on_wait=lambda: None,
        )
        _set_up(commands, values, found, tree=tree, own=own, steps=steps)
        steps.tidy()
        return environments.surroundings(
            batch.environments, workspace_id=batch.workspace_id, own=own, tree=tree
        )
    except (NeedRefused, BuildFailed) as error:
        raise OutfitFailed(f"The integrated tree's environment: {with_way_out(error)}") from error
    except (SetupRefused, SetupFailed, DiskTooFull, OSError) as error:
        raise OutfitFailed(f"The integrated tree's environment: {error}") from error


def discard(batch: Batch) -> None:
    remove_folder(_own(batch))


def _own(batch: Batch) -> Path:
    return paths.own_environment_dir(batch.id)


def _note(batch: Batch, lease: Lease, used: list[dict[str, Any]]) -> None:
    batch.environments = used
    persist(lambda: lease.require(environments=used))


def _set_up(
    commands: list[SetupCommand],
    values: dict[str, Any],
    found: Surroundings,
    *,
    tree: Path,
    own: Path,
    steps: Steps,
) -> None:
    own.mkdir(mode=0o700, parents=True, exist_ok=True)
    ground = Ground(
        tree=tree,
        own=own,
        surroundings=found,
        policy=policy(),
        timeout_s=values.get("setup.timeout_s", COMMAND_S),
    )
    replay(commands, ground, steps)


def _steps(batch: Batch, scope: StopScope, values: dict[str, Any]) -> Steps:
    work = paths.validation_dir(batch.id) / "provision"
    end_left_over(work)
    return Steps(
        work=work,
        check=scope.check,
        should_stop=stop_request_of(scope),
        deadline_s=values.get("environment.timeout_s", TIMEOUT_S),
        pass_env=tuple(settings.PROVISION_PASS_ENV),
        cache=paths.environments_dir(batch.workspace_id) / "cache",
    )
