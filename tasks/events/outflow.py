"""Whether a connection takes more for now; servers tell it in a scope's extensions."""

from collections.abc import Callable
from typing import Any, Protocol

EXTENSION = "codeframe.outflow"


class Outflow(Protocol):
    """`full` while more is waiting in the server than the connection takes."""

    full: bool

    def watch(self, changed: Callable[[], None]) -> None:
        """Calls back when it becomes full and when it no longer is."""
        ...

    def release(self) -> None:
        """Before the response ends."""
        ...

    def abort(self) -> None:
        """Drops the connection with all that waits in it."""
        ...


class Unbounded:
    """For a server that waits in `send` itself."""

    full = False

    def watch(self, changed: Callable[[], None]) -> None:
        return None

    def release(self) -> None:
        return None

    def abort(self) -> None:
        return None


def outflow_of(scope: dict[str, Any]) -> Outflow:
    found: Outflow = scope.get("extensions", {}).get(EXTENSION) or Unbounded()
    return found
