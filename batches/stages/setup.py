"""The workspace's set-up commands, replayed into this run's environment; the tree stays clean."""

from pathlib import Path

from batches import paths
from batches.context import RunContext, StageFailed
from batches.engines.template import parse_command
from batches.integration.restoring import restore
from batches.provisioning.replay import Ground, SetupFailed, replay
from batches.provisioning.setup_command import MOST_COMMANDS, SetupCommand
from batches.provisioning.setup_policy import policy
from batches.provisioning.steps import StepFailed, Steps
from batches.provisioning.surroundings import Surroundings
from batches.reasons import Reason
from batches.results import failed
from batches.stages.provision import config_of, setup_of, steps_of, surroundings_of

COMMAND_S = 600
PROBE_S = 300


def set_up_tree(context: RunContext, tree: Path, surroundings: Surroundings) -> Surroundings:
    """The surroundings, with what set-up has added. Raises StageFailed."""
    run = context.run
    if not context.place.isolated or run.agent_started or run.capture_commit:
        return surroundings
    commands = setup_of(context)
    if not commands:
        return surroundings
    command_s = config_of(context).get("setup.timeout_s", COMMAND_S)
    deadline_s = stage_seconds(command_s, len(commands))
    with context.stage("setup", deadline_s=deadline_s):
        context.scope.check()
        steps = steps_of(context, "setup", deadline_s)
        try:
            _set_up(context, tree, surroundings, commands, steps)
        except (SetupFailed, StepFailed) as error:
            raise StageFailed(failed(Reason.SETUP_FAILED, str(error))) from error
        finally:
            steps.tidy()
        return surroundings_of(context, tree)


def stage_seconds(command_s: int, commands: int = MOST_COMMANDS) -> int:
    """Every command may take its whole time, and then there is the probing."""
    return command_s * commands + PROBE_S


def _set_up(
    context: RunContext,
    tree: Path,
    surroundings: Surroundings,
    commands: list[SetupCommand],
    steps: Steps,
) -> None:
    own = paths.own_environment_dir(context.run.id)
    own.mkdir(mode=0o700, parents=True, exist_ok=True)
    ground = Ground(
        tree=tree,
        own=own,
        surroundings=surroundings,
        policy=policy(),
        timeout_s=config_of(context).get("setup.timeout_s", COMMAND_S),
    )
    replay(commands, ground, steps)
    restore(context.place.store, tree_dir=tree)
    env = steps.environment(surroundings_of(context, tree))
    for text in config_of(context).get("environment.probe", []):
        steps.run(tuple(parse_command(text)), cwd=tree, env=env, timeout_s=PROBE_S, shown=text)
