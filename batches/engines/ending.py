"""How a program ended, in words."""

import signal

from batches.supervisor.record import ExitRecord
from tasks.text import printable

LAST_LINE_CHARS = 300


def how_it_ended(exit_record: ExitRecord, what: str = "The command") -> str:
    if exit_record.signal:
        return f"{what} was killed by {_signal_name(exit_record.signal)}"
    return f"{what} ended with exit code {exit_record.code}"


def with_last_line(how: str, *outputs: bytes) -> str:
    """Of the first output that has one."""
    said = next((line for output in outputs if (line := last_line(output))), "")
    return f"{how}: {said}" if said else f"{how}."


def last_line(output: bytes) -> str:
    lines = printable(output.decode(errors="replace")).split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return said[-LAST_LINE_CHARS:]


def survivors(exit_record: ExitRecord) -> str:
    names = ", ".join(f"{victim.name} ({victim.pid})" for victim in exit_record.survivors)
    return f"The command left processes that could not be killed and may still write: {names}."


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal has no name
        return f"signal {number}"
