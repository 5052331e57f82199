"""System checks: what would lose work or lie is refused before anything starts."""

import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from batches.supervisor.client import LIMITATIONS
from codeframe_site import loop_calls
from tasks.workspaces.git import GitError
from tasks.workspaces.inspection import require_version

Apps = Sequence[AppConfig] | None
Cluster = Mapping[str, Any]
LONGEST_BATCH_S = 365 * 86400
OTHER_BROKERS = ("redis", "django_redis", "iron_mq", "sqs", "mongo", "broker_class")
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


@dataclass(frozen=True, kw_only=True)
class QueueRule:
    id: str
    broken: Callable[[Cluster], bool]
    message: str
    hint: str


def _seconds(cluster: Cluster, name: str) -> float:
    value = cluster.get(name)
    return value if isinstance(value, int | float) else 0


def _without_transaction(cluster: Cluster) -> bool:
    """True unless messages go into our own database, or to a broker that is named."""
    return cluster.get("orm") != "default" and not any(map(cluster.get, OTHER_BROKERS))


QUEUE_RULES = (
    QueueRule(
        id="codeframe.E001",
        broken=lambda c: _seconds(c, "retry") <= _seconds(c, "timeout"),
        message="Q_CLUSTER retry must be longer than its timeout.",
        hint="A job that is still at work after `retry` is delivered again: two would run at once.",
    ),
    QueueRule(
        id="codeframe.E002",
        broken=lambda c: min(_seconds(c, "retry"), _seconds(c, "timeout")) < LONGEST_BATCH_S,
        message="Q_CLUSTER retry and timeout must each be a year at least.",
        hint="A batch may take days. `timeout` breaks it off and leaves its agents running, "
        "`retry` starts it a second time; recovery by lease replaces both.",
    ),
    QueueRule(
        id="codeframe.E003",
        broken=lambda c: c.get("ack_failures") is not True,
        message="Q_CLUSTER ack_failures must be True.",
        hint="A job that fails would be delivered again without end. The sender writes this into "
        "the message, so web server and worker need it alike.",
    ),
    QueueRule(
        id="codeframe.E004",
        broken=lambda c: c.get("max_attempts") != 1,
        message="Q_CLUSTER max_attempts must be 1.",
        hint="0 repeats for ever; more than 1 repeats work that the batch's own row already knows.",
    ),
    QueueRule(
        id="codeframe.E005",
        broken=lambda c: bool(c.get("sync")),
        message="Q_CLUSTER sync must be off.",
        hint="Batches would run inside the request, or the transaction, that creates them.",
    ),
    QueueRule(
        id="codeframe.E006",
        broken=_without_transaction,
        message='Q_CLUSTER orm must be "default", unless another broker is named.',
        hint="In our own database the message is committed together with the batch; with no broker "
        "named, Django-Q2 looks for a Redis on this machine.",
    ),
    QueueRule(
        id="codeframe.E007",
        broken=lambda c: not isinstance(c.get("ALT_CLUSTERS"), dict),
        message="Q_CLUSTER needs ALT_CLUSTERS, an empty dictionary will do.",
        hint="Without it a worker with a cluster name of its own ends as it starts.",
    ),
)


@register("codeframe")
def check_queue(app_configs: Apps, **_: Any) -> list[CheckMessage]:
    cluster = settings.Q_CLUSTER
    return [
        Error(rule.message, hint=rule.hint, id=rule.id)
        for rule in QUEUE_RULES
        if rule.broken(cluster)
    ]


@register("codeframe")
def check_sqlite(app_configs: Apps, **_: Any) -> list[CheckMessage]:
    return [
        error
        for alias, row in settings.DATABASES.items()
        if row["ENGINE"] == "django.db.backends.sqlite3"
        for error in _sqlite_errors(alias, row.get("OPTIONS", {}))
    ]


def _sqlite_errors(alias: str, options: Mapping[str, Any]) -> Iterator[Error]:
    if options.get("transaction_mode") != "IMMEDIATE":
        yield Error(
            f"Database {alias}: SQLite needs transaction_mode IMMEDIATE.",
            hint="Deferred transactions of two writers fail with `database is locked`, at once and "
            "whatever the time-out.",
            id="codeframe.E010",
        )
    pragmas = "".join(str(options.get("init_command", "")).lower().split())
    if "journal_mode=wal" not in pragmas:
        yield Error(
            f"Database {alias}: SQLite needs PRAGMA journal_mode=WAL in its init_command.",
            hint="Without the write-ahead log readers and writers wait for each other.",
            id="codeframe.E011",
        )


@register("codeframe")
def check_git(app_configs: Apps, **_: Any) -> list[CheckMessage]:
    try:
        require_version()
    except GitError as error:
        return [Error(str(error), hint="Install a newer git.", id="codeframe.E020")]
    return []


@register("codeframe")
def check_limits(app_configs: Apps, **_: Any) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    if settings.MAX_CONCURRENT_BATCHES >= settings.WORKERS:
        found.append(
            Error(
                "CODEFRAME_MAX_CONCURRENT_BATCHES must be less than CODEFRAME_WORKERS.",
                hint="Batches would take every worker, and short jobs would wait for hours.",
                id="codeframe.E030",
            )
        )
    if settings.HEARTBEAT_SECONDS * 3 > settings.LEASE_SECONDS:
        found.append(
            Error(
                "CODEFRAME_LEASE_SECONDS must be three times CODEFRAME_HEARTBEAT_SECONDS at least.",
                hint="One or two late heartbeats would give a healthy worker's batch to another.",
                id="codeframe.E031",
            )
        )
    return found


@register("codeframe")
def check_debug(app_configs: Apps, **_: Any) -> list[CheckMessage]:
    """Tracebacks show settings and paths: to oneself that is a convenience, to a network a leak."""
    if not settings.DEBUG:
        return []
    hint = "Unset CODEFRAME_DEBUG."
    if set(settings.ALLOWED_HOSTS) <= LOOPBACK:
        return [Warning("CODEFRAME_DEBUG is on.", hint=hint, id="codeframe.W040")]
    return [
        Error("CODEFRAME_DEBUG is on, on a network.", hint=hint, id="codeframe.E040"),
    ]


@register("codeframe")
def check_platform(app_configs: Apps, **_: Any) -> list[CheckMessage]:
    return [Warning(LIMITATIONS, id="codeframe.W050")] if LIMITATIONS else []


@register("codeframe")
def check_state_folder(app_configs: Apps, **_: Any) -> list[CheckMessage]:
    folder = Path(settings.STATE_DIR)
    if not stat.S_IMODE(folder.stat().st_mode) & 0o077:
        return []
    return [
        Warning(
            f"Other accounts of this machine can read {folder}.",
            hint=f"It holds keys and agents' output: chmod 700 {folder}",
            id="codeframe.W051",
        )
    ]


@register("codeframe")
def check_loop_calls(app_configs: Apps, **_: Any) -> list[CheckMessage]:
    """What may stay on the event loop must be over before anything there runs out of time."""
    shortest = min(loop_calls.SHORTEST_S, key=loop_calls.SHORTEST_S.__getitem__)
    limit = loop_calls.SHORTEST_S[shortest]
    return [
        Error(
            f"{call.call} in {call.file} may hold the event loop for {call.bound_s:g} s; "
            f"the shortest time-out there is {limit:g} s ({shortest}).",
            hint="Call it in a thread, or lower its bound.",
            id="codeframe.E060",
        )
        for call in loop_calls.ALLOWED
        if call.bound_s >= limit
    ]
