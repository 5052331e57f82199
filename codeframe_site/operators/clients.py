"""Who follows events right now, as this web process knows it."""

from typing import Any


def connected_clients() -> dict[str, Any] | None:
    """None where nothing is served."""
    return None
