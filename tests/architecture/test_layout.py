"""Where things live: models, queries, environment variables, help texts, and how long a file is."""

import ast
import re
import sys

import pytest
from django.apps import apps
from django.core.management import get_commands, load_command_class

from tests.architecture.source import (
    APPS,
    ROOT,
    Source,
    all_tests,
    dotted,
    imported_modules,
    product,
    under,
)

MOST_LINES = 350
WITHOUT_ROWS = ("batches/engines", "batches/integration", "batches/supervisor")
MAY_READ_ENVIRONMENT = frozenset(
    {
        "manage.py",
        "codeframe_site/asgi.py",
        "codeframe_site/env.py",
        "codeframe_site/settings.py",
        "codeframe_site/demo/agent.py",
        "batches/engines/builtin/key.py",
        "batches/engines/environment.py",
        "batches/supervisor/starting.py",
        "tasks/workspaces/commands.py",
    }
)
"""Settings read their own variables; the others pass some on to the programs they start."""


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    long = {s.name: s.lines for s in (*product(), *all_tests()) if s.lines >= MOST_LINES}
    assert long == {}


def test_models_live_in_their_folders_only() -> None:
    homes = {f"{app}.models" for app in APPS}
    stray = [
        model.__module__
        for app in APPS
        for model in apps.get_app_config(app).get_models()
        if not any(
            model.__module__ == home or model.__module__.startswith(f"{home}.") for home in homes
        )
    ]
    assert stray == []


def test_a_class_that_is_a_model_is_defined_in_a_models_file() -> None:
    home = re.compile(r"codeframe_site/models\.py|(tasks|batches|costs)/models/\w+\.py")
    stray = [
        f"{source.name}:{node.lineno} {node.name}"
        for source in product()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef)
        and any(dotted(base) in ("models.Model", "Model") for base in node.bases)
        and not home.fullmatch(source.name)
    ]
    assert stray == []


def _database_uses(source: Source) -> list[str]:
    forbidden = re.compile(r"django\.db\b|(batches|tasks|costs|codeframe_site)\.models\b")
    used = [
        f"{line} {name}" for name, line in imported_modules(source.tree) if forbidden.match(name)
    ]
    managers = [
        f"{node.lineno} {dotted(node)}"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and node.attr in ("objects", "_default_manager")
    ]
    return used + managers


def test_engines_integration_and_supervisor_know_no_rows() -> None:
    found = {s.name: uses for s in under(*WITHOUT_ROWS) if (uses := _database_uses(s))}
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "from batches.models import Run",
        "from batches import models",
        "from django.db import transaction",
        "import tasks.models.task",
        "Run.objects.get(id=1)",
    ],
)
def test_a_use_of_rows_is_found(text: str) -> None:
    source = Source(path=ROOT / "batches/engines/x.py", tree=ast.parse(text), lines=1)
    assert _database_uses(source)


def test_the_supervisor_process_needs_the_standard_library_only() -> None:
    """It starts without site packages, and must not wait for them either."""
    known = {*sys.stdlib_module_names, "posix", "_signal", "batches"}
    child = [*under("batches/supervisor/child")]
    child += [s for s in under("batches/supervisor") if s.name.endswith("agent_supervisor.py")]
    assert child
    foreign = [
        f"{source.name}:{line} {name}"
        for source in child
        for name, line in imported_modules(source.tree)
        if name.split(".")[0] not in known
        or (name.startswith("batches.") and not name.startswith("batches.supervisor"))
    ]
    assert foreign == []


def test_environment_variables_are_read_in_few_places() -> None:
    found = {
        source.name
        for source in product()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and dotted(node) in ("os.environ", "os.getenv")
    }
    assert found - MAY_READ_ENVIRONMENT == set()


@pytest.mark.parametrize("name", [name for name, app in get_commands().items() if app in APPS])
def test_every_command_says_what_it_is_for(name: str) -> None:
    command = load_command_class(str(get_commands()[name]), name)
    assert re.match(r"[A-Z].+\.", command.help)
