"""The supervisor's life, top to bottom."""
# (pathlib would double the start time)

import fcntl
import sys
import time

from batches.supervisor.child.ending import failed_start, record_of, write_exit
from batches.supervisor.child.family import become_subreaper
from batches.supervisor.child.launching import Agent
from batches.supervisor.child.notes import dumps, read_note, write_all
from batches.supervisor.child.requests import read_stop
from batches.supervisor.child.watching import Watch
from batches.supervisor.layout import PROCESS, SPEC
from batches.supervisor.native import os, signal
from batches.supervisor.processes import descendants, host_id, start_time
from batches.supervisor.sweep import sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def main(run_dir: str) -> "NoReturn":
    """Skips the interpreter's clean-up: the exit record is on disk, and its reader is waiting."""
    code = 1
    try:
        supervise(run_dir)
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())  # into supervisor.log
        sweep(lambda: descendants(os.getpid()))
    finally:
        os._exit(code)


def supervise(run_dir: str) -> None:
    wake = listen()
    spec = read_note(f"{run_dir}/{SPEC}")
    started_at = time.time()
    try:
        become_subreaper()
        agent = Agent(spec)
    except OSError as error:
        return write_exit(run_dir, failed_start(f"cannot supervise: {error}", started_at))
    try:
        _publish(run_dir, agent.pid)
    except FileExistsError:  # a client has given this start up, or it is another's
        return agent.abandon()
    except OSError as error:
        agent.abandon()
        return write_exit(run_dir, failed_start(f"cannot record the start: {error}", started_at))
    watch = Watch(run_dir, spec, agent, wake)
    _run(watch, agent)
    killed, survivors = watch.family.kill()
    watch.drain_rest()
    record = record_of(watch, started_at=started_at, killed=killed, survivors=survivors)
    write_exit(run_dir, record)


def _run(watch: Watch, agent: Agent) -> None:
    if stop := read_stop(watch.run_dir):
        watch.end("stopped", stop.reason)
        return agent.abandon()
    agent.release()
    watch.until_cause()
    if watch.family.wait_status is None:
        watch.stop_agent()
    else:
        watch.drain_briefly()


def listen() -> int:
    """Signals become bytes in a pipe. Before process.json invites anyone to send one."""
    wake, woken = os.pipe()
    for fd in (wake, woken):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return wake


def _publish(run_dir: str, agent: int) -> None:
    """Raises FileExistsError. The lock stays with us until we die: it says that we live."""
    supervisor = os.getpid()
    note: dict[str, Any] = {
        "host": host_id(),
        "supervisor": {"pid": supervisor, "start": start_time(supervisor)},
        "agent": {"pid": agent, "start": start_time(agent)},
    }
    draft = f"{run_dir}/{PROCESS}.{supervisor}"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        write_all(fd, dumps(note).encode())
        os.link(draft, f"{run_dir}/{PROCESS}")
    finally:
        os.unlink(draft)
