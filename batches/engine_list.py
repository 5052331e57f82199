"""Every engine there is, and whether it can be used here; looks at files only, starts nothing."""

from dataclasses import dataclass

from batches.engine_setup import with_settings
from batches.engine_versions import agent_engine, known
from batches.engines import NAMED
from batches.engines.command import CommandEngine as Adapter
from batches.keys import load_keys
from batches.models import CommandEngine


@dataclass(frozen=True, kw_only=True)
class EngineInfo:
    """`problem` says in a sentence why it cannot be used; `login` which log-in it will use."""

    name: str
    kind: str
    usable: bool
    problem: str = ""
    version: str = ""
    path: str = ""
    login: str = ""
    get: str = ""
    tells_usage: bool = True


def engines() -> list[EngineInfo]:
    """Agents first, then command engines by name. Two queries: theirs, and the keys'."""
    load_keys()
    return [*map(_agent, NAMED), *map(_command, CommandEngine.objects.order_by("name"))]


def usable() -> list[EngineInfo]:
    """What pages and the API offer."""
    return [info for info in engines() if info.usable]


def _agent(kind: str) -> EngineInfo:
    engine, options = agent_engine(kind), with_settings(kind, {})
    path = engine.find(options)
    found = engine.check(options)
    probed = known(kind, path)
    problem = found.sentence if found else probed.get("problem", "")
    return EngineInfo(
        name=kind,
        kind=kind,
        usable=not problem,
        problem=problem,
        version=probed.get("version", ""),
        path=path or "",
        login=engine.login(),
        get="" if path else engine.package,
    )


def _command(row: CommandEngine) -> EngineInfo:
    options = row.options()
    found = Adapter().check(options)
    problem = found.sentence if found else ("" if row.enabled else "switched off")
    return EngineInfo(
        name=row.name,
        kind="command",
        usable=not problem,
        problem=problem,
        path=str(row.argv[0]) if row.argv else "",
        tells_usage=bool(row.usage),
    )
