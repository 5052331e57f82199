"""Which engine a request means, and whether the caller may have it."""

from collections.abc import Mapping
from typing import Any, NoReturn

from rest_framework.request import Request

from batches.admission import default_engine, engine_options
from batches.engines.template import CommandError, parse_command
from batches.errors import InvalidOptions
from batches.options import BatchOptions
from tasks.api.base import held_scope
from tasks.audit import audit
from tasks.errors import Forbidden
from tasks.models import Workspace

OF_COMMAND = ("prompt_via", "pass_env")
MAY_SET_UP_ENGINES = "batches.add_commandengine"


def options_of(request: Request, workspace: Workspace, given: Mapping[str, Any]) -> BatchOptions:
    """Raises InvalidOptions, and Forbidden for a free command line."""
    fields = dict(given)
    engine, command = fields.pop("engine"), fields.pop("command")
    extra = {name: fields.pop(name) for name in OF_COMMAND if name in fields}
    if command:
        if engine not in ("", "command"):
            _refuse("command", "belongs to the engine named command")
        engine, chosen = "command", _free_command(request, workspace, command, extra)
    else:
        if extra:
            _refuse(next(iter(extra)), "belongs to command; an engine has its own")
        if engine == "command":
            _refuse("command", "is what the engine named command needs")
        engine = engine or default_engine(workspace)
        chosen = engine_options(engine)
    retries = fields.pop("retry_count")
    return BatchOptions(engine=engine, engine_options=chosen, max_retries=retries, **fields)


def _free_command(
    request: Request, workspace: Workspace, line: str, extra: dict[str, Any]
) -> dict[str, Any]:
    """A shell in all but name: for the admin scope of those who may set up engines anyway.

    Audited when it is asked for, so that no such command ever began without its row.
    """
    if held_scope(request) != "admin" or not request.user.has_perm(MAY_SET_UP_ENGINES):
        raise Forbidden(
            "a command line of one's own needs the admin scope and the right to set up engines; "
            "choose an engine by name"
        )
    try:
        argv = parse_command(line)
    except CommandError as error:
        _refuse("command", str(error))
    options = {"argv": argv, "prompt_via": "file", "pass_env": [], **extra}
    audit(request.user.get_username(), "engine.command", workspace.name, options)
    return {"kind": "command", **options}


def _refuse(name: str, sentence: str) -> NoReturn:
    raise InvalidOptions(f"{name}: {sentence}", fields={name: [sentence]})
