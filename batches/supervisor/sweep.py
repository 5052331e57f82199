"""Kills processes that may fork while they are being killed. Light: the child side uses it."""

import time

from batches.supervisor.native import signal
from batches.supervisor.processes import Process, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT_S = 15.0
_FIRST_PAUSE_S = 0.0005
_LONGEST_PAUSE_S = 0.02

Victim = dict[str, int | str]


def sweep(
    targets: "Callable[[], list[Process]]", *, limit_s: float = LIMIT_S
) -> tuple[list[Victim], list[Victim]]:
    """Kill until `targets` finds nobody; return those killed, and survivors if the limit passed.

    `targets` is called again and again, must leave out the dead, and should reap its own zombies.
    """
    killed: dict[tuple[int, int], Process] = {}
    deadline = time.monotonic() + limit_s
    pause = _FIRST_PAUSE_S
    while doomed := _freeze(targets, deadline):
        for process in doomed:
            if send(process, signal.SIGKILL):
                killed[process.identity] = process
        if time.monotonic() > deadline:
            break
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_S)
    survivors = {process.identity for process in doomed}
    dead = [process for identity, process in killed.items() if identity not in survivors]
    return _victims(dead), _victims(doomed)


def _freeze(targets: "Callable[[], list[Process]]", deadline: float) -> list[Process]:
    """Stop every target before any is killed: what cannot run cannot win the race by forking."""
    frozen: set[tuple[int, int]] = set()
    while True:
        found = targets()
        fresh = [process for process in found if process.identity not in frozen]
        if not fresh or time.monotonic() > deadline:
            return found
        for process in fresh:
            send(process, signal.SIGSTOP)
            frozen.add(process.identity)


def _victims(processes: list[Process]) -> list[Victim]:
    return [{"pid": process.pid, "name": process.name} for process in processes]
