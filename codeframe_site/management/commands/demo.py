import os
import secrets
import shlex
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model

from batches import paths
from batches.management.commands.runbatch import Command as RunBatch
from batches.models import Batch
from codeframe_site.demo import agent
from codeframe_site.demo.workspace import ACCOUNT, make_workspace, refuse_other_work
from tasks.console import ConsoleCommand
from tasks.models import Workspace
from tasks.workspaces import git
from tasks.workspaces.inspection import inspect

TASKS_FILE = Path(agent.__file__).with_name("tasks.yaml")
COMMITS_SHOWN = 20


class Command(ConsoleCommand):
    help = (
        "Run eight tasks as a real batch on a throw-away repository, with a scripted agent: "
        "less than a minute, no key, no network, nothing outside the state directory."
    )

    def run(self, **_: Any) -> int:
        refuse_other_work()
        workspace = make_workspace()
        self.say(f"a throw-away repository: {_near(Path(workspace.repo_path))}")
        self.say("eight tasks for it, by a scripted agent:\n")
        options = batch_options(workspace)
        for line in shown_command(options):
            self.say(line)
        self.say()
        code = self._run_batch(options)
        self._show_commits(workspace)
        self._say_where_to_look(workspace)
        return code

    def _run_batch(self, options: list[list[str]]) -> int:
        command = RunBatch()
        command.stdout, command.stderr = self.stdout, self.stderr
        parser = command.create_parser("manage.py", "runbatch")
        words = [word for option in options for word in option]
        return command.run(**vars(parser.parse_args(words)))

    def _show_commits(self, workspace: Workspace) -> None:
        batch = Batch.objects.filter(workspace=workspace).latest("created_at")
        branch = batch.base_branch if batch.landed_commit else batch.branch
        store = git.open_store(paths.store_dir(workspace.id), inspect(Path(workspace.repo_path)))
        self.say(f"\ngit log {branch}")
        for row in git.log(store, branch, limit=COMMITS_SHOWN):
            self.say(f"  {row.commit[:8]}  {row.subject}")

    def _say_where_to_look(self, workspace: Workspace) -> None:
        password = fresh_password()
        self.say("\nthe same in the browser:")
        self.say(f"  make run CODEFRAME_STATE_DIR={shlex.quote(_near(settings.STATE_DIR))}")
        self.say("  http://127.0.0.1:8000/ and http://127.0.0.1:8000/admin/")
        self.say(f"  account {ACCOUNT}, password {password}")


def batch_options(workspace: Workspace) -> list[list[str]]:
    """What runbatch is given, in the groups it is shown in."""
    player = shlex.join([sys.executable, agent.__file__])
    return [
        ["--workspace", workspace.name, "--tasks-file", _near(TASKS_FILE)],
        ["--command", player.replace("{", "{{").replace("}", "}}")],
        ["--pass-env", "CODEFRAME_DEMO_PACE", "--max-retries", "1", "--max-parallel", "3"],
    ]


def shown_command(options: list[list[str]]) -> list[str]:
    """As a person would type it."""
    state = shlex.quote(_near(settings.STATE_DIR))
    lines = [f"CODEFRAME_STATE_DIR={state} python manage.py runbatch", *map(shlex.join, options)]
    return [f"  {'  ' if at else '$ '}{line}" for at, line in enumerate(_continued(lines))]


def _continued(lines: list[str]) -> list[str]:
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def fresh_password() -> str:
    """Of the demo's account, which is made when it is not there."""
    password = secrets.token_urlsafe(9)
    users = get_user_model().objects
    user, _ = users.get_or_create(
        username=ACCOUNT, defaults={"is_staff": True, "is_superuser": True}
    )
    user.set_password(password)
    user.save(update_fields=["password"])
    return password


def _near(path: Path) -> str:
    """Relative where the reader stands above it."""
    here = Path.cwd()
    return os.fspath(path.relative_to(here) if path.is_relative_to(here) else path)
