"""One attempt of one task, top to bottom.

Entered again by the next owner after a crash: each step looks at the run's row and artefacts
first, so what is done is not done twice, and a living agent is adopted, not started again.
"""

from batches.context import RunContext, StageFailed
from batches.models.run import RunStatus
from batches.reasons import Reason
from batches.results import RunResult, completed, ended, failed, of_git_error, of_os_error
from batches.scope import Stopped
from batches.stages.agent import run_agent
from batches.stages.capture import capture_work
from batches.stages.gates import verify_tree
from batches.stages.integrate import integrate_change
from batches.stages.judge import judge_agent
from batches.stages.offers import take_offers
from batches.stages.provision import discard_environments, provision_tree
from batches.stages.setup import set_up_tree
from batches.stages.tree import discard_tree, make_tree
from batches.stages.vet import vet_change
from batches.supervisor.client import SupervisorStartError
from tasks.workspaces.git import GitError


def run_attempt(context: RunContext) -> RunResult:
    try:
        result = _attempt(context)
    except StageFailed as failure:
        result = failure.result
    except Stopped as stopped:
        result = ended(RunStatus.CANCELLED, stopped.stop.reason, stopped.stop.sentence)
    except SupervisorStartError as error:
        result = _of_start_error(error)
    except GitError as error:
        result = of_git_error(error)
    except OSError as error:
        result = of_os_error(error)
    context.flush()  # the tree goes only when the rows say that it is captured and verified
    discard_tree(context)
    discard_environments(context)
    return context.conclude(result)


def _attempt(context: RunContext) -> RunResult:
    tree = make_tree(context)
    surroundings = provision_tree(context, tree)
    surroundings = set_up_tree(context, tree, surroundings)
    exit_record = run_agent(context, tree, surroundings)
    change = capture_work(context, tree)
    take_offers(context)
    judge_agent(context, exit_record, change)
    vet_change(context, change)
    verify_tree(context, tree, surroundings)
    integrate_change(context, change)
    return completed()


def _of_start_error(error: SupervisorStartError) -> RunResult:
    cause = error.__cause__
    if isinstance(cause, OSError):
        result = of_os_error(cause)
        return failed(result.reason or Reason.STORAGE, str(error))
    return failed(Reason.ENGINE_ERROR, str(error))
