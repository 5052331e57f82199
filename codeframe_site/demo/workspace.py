"""A workspace for one run of the demo; earlier ones stay as they are."""

import re
import sys
from itertools import count
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model

from codeframe_site.demo import repository
from tasks.errors import DomainError
from tasks.models import Workspace
from tasks.workspaces.registry import add_workspace

ACCOUNT = "demo"
_NAME = re.compile(r"demo-[0-9]+")


def refuse_other_work() -> None:
    """The demo makes an account that may do anything, so it keeps away from real work.

    Raises DomainError.
    """
    names = Workspace.objects.values_list("name", flat=True)
    other = [name for name in names if not _NAME.fullmatch(name)]
    users = get_user_model().objects.exclude(username=ACCOUNT)
    if other or users.exists():
        what = f"workspace {other[0]}" if other else "accounts of your own"
        raise DomainError(
            f"{settings.STATE_DIR} holds {what}, and the demo leaves that alone: "
            "set CODEFRAME_STATE_DIR to another folder, or say make demo"
        )


def make_workspace() -> Workspace:
    """A fresh repository under the state directory, registered. Raises DomainError."""
    _require_pytest()
    for number in count(1):
        name = f"demo-{number}"
        if Workspace.objects.filter(name=name).exists():
            continue
        path = Path(settings.STATE_DIR) / name
        try:
            repository.build(path)
        except FileExistsError:  # of an earlier demo, or of one that starts now
            continue
        except repository.DemoError as error:
            raise DomainError(str(error)) from error
        _lend_environment(path)
        return add_workspace(path=str(path), name=name)
    raise AssertionError("unreachable")


def _require_pytest() -> None:
    if not (Path(sys.prefix) / "bin" / "pytest").exists():
        raise DomainError(f"the demo's gate needs pytest in {sys.prefix}: run make install first")


def _lend_environment(path: Path) -> None:
    """The gate looks for pytest in the repository's own environment; here it is this Python's."""
    (path / ".venv").symlink_to(sys.prefix)
    info = path / ".git" / "info"
    info.mkdir(exist_ok=True)
    (info / "exclude").write_text(".venv\n")
