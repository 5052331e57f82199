"""What a stretch of work takes: wall, CPU (children included), queries and processes."""

import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from django.db import connection
from django.db.backends.signals import connection_created

_lock = Lock()
_seen: Counter[str] = Counter()
QUERY = "query"


@dataclass
class Cost:
    """Filled when the block of `measured` ends; `seen` counts queries and started programs."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    seen: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.wall_s + other.wall_s, self.cpu_s + other.cpu_s, self.seen + other.seen)

    @property
    def queries(self) -> int:
        return self.seen[QUERY]

    @property
    def processes(self) -> int:
        return self.seen.total() - self.queries


@contextmanager
def measured() -> Iterator[Cost]:
    cost = Cost()
    wall, cpu, seen = time.perf_counter(), cpu_s(), seen_so_far()
    yield cost
    cost.wall_s, cost.cpu_s = time.perf_counter() - wall, cpu_s() - cpu
    cost.seen = seen_so_far() - seen


def cpu_s() -> float:
    """Of this process, the children it has waited for, and its database's own process."""
    mine, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    own = mine.ru_utime + mine.ru_stime + children.ru_utime + children.ru_stime
    return own + _database_cpu_s()


def seen_so_far() -> Counter[str]:
    with _lock:
        return _seen.copy()


def start_counting() -> None:
    """Before the first connection is made; a process is counted under its program's name."""
    connection_created.connect(_count_queries_of, weak=False)
    sys.addaudithook(_on_audit)


def _count(name: str) -> None:
    with _lock:
        _seen[name] += 1


def _count_queries_of(*, connection: Any, **_: Any) -> None:
    connection.execute_wrappers.append(_count_query)


def _count_query(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
    _count(QUERY)
    return execute(sql, *rest)


def _on_audit(event: str, args: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen":
        _count(_program([os.fsdecode(part) for part in args[1]]))


def _program(argv: list[str]) -> str:
    """`git merge-tree` rather than `git`: which of git's commands is what one wants to know."""
    if Path(argv[0]).name != "git":
        return Path(argv[0]).name
    words = iter(argv[1:])
    for word in words:
        if word == "-c":
            next(words)
        elif not word.startswith("-"):
            return f"git {word}"
    return "git"


def _database_cpu_s() -> float:
    """Of the server process behind this thread's connection, when it is PostgreSQL and local."""
    if connection.vendor != "postgresql" or connection.connection is None:
        return 0.0
    try:
        text = Path(f"/proc/{connection.connection.info.backend_pid}/stat").read_text()
    except FileNotFoundError:
        return 0.0
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
