"""Who holds a lease, written so that anyone on the same machine can tell whether it still lives."""

import os
import secrets
import socket

from django.conf import settings

from batches.supervisor import processes

FAMILY = secrets.token_hex(4)
"""Made before a worker forks, so all its processes share it."""
FIELDS = 6


def host_name() -> str:
    return str(settings.HOST_NAME or socket.gethostname()).replace("|", "_")


def new_owner() -> str:
    """host | boot | pid | start time | family | nonce."""
    pid = os.getpid()
    start = processes.start_time(pid) if processes.ON_LINUX else 0
    parts = (host_name(), processes.host_id(), pid, start, FAMILY, secrets.token_hex(4))
    return "|".join(map(str, parts))


def is_ours(owner: str) -> bool:
    """A process of the same worker, or this one."""
    return owner.split("|")[4:5] == [FAMILY]


def is_here(owner: str) -> bool:
    return owner.startswith(f"{host_name()}|")


def is_dead(owner: str) -> bool:
    """Provably: it ran on this machine since its last boot, and there is no such process now.

    False whenever that cannot be told: then the lease's own time decides.
    """
    parts = owner.split("|")
    if len(parts) != FIELDS or parts[0] != host_name() or not processes.ON_LINUX:
        return False
    if parts[1] != processes.host_id():
        return False  # another boot, or a container: its lease runs out by time
    process = processes.find(int(parts[2]))
    return process is None or not process.alive or process.start != int(parts[3])
