"""Where a run's things lie under the state directory; all folders are private to the server."""

from pathlib import Path
from uuid import UUID

from django.conf import settings


def state_folder(*parts: str) -> Path:
    """Makes it, readable by the server's account alone."""
    folder = Path(settings.STATE_DIR).joinpath(*parts)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def store_dir(workspace_id: UUID) -> Path:
    return state_folder("stores") / f"{workspace_id.hex}.git"


def run_dir(run_id: UUID) -> Path:
    """The run's artefacts: prompt, spool, exit record, gate output. Stays after the run."""
    return state_folder("runs", run_id.hex)


def agent_dir(run_id: UUID) -> Path:
    return run_dir(run_id) / "agent"


def question_file(run_id: UUID) -> Path:
    """Where its agent may leave a question for a person."""
    return run_dir(run_id) / "question.md"


def tree_dir(run_id: UUID) -> Path:
    """The working tree; removed once its work is captured."""
    return state_folder("trees") / run_id.hex


def own_environment_dir(run_id: UUID) -> Path:
    """What is installed for this run alone; removed with its tree."""
    return state_folder("trees") / f"{run_id.hex}.env"


def environments_dir(workspace_id: UUID) -> Path:
    """Environments that the workspace's runs share, and the caches they are built from."""
    return state_folder("environments") / workspace_id.hex


def validation_dir(batch_id: UUID) -> Path:
    return state_folder("validations", batch_id.hex)
