"""ASGI entry point: health and streams from the loop, the rest through Django under a cap."""

import os
import re
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codeframe_site.settings")

from django.core.asgi import get_asgi_application
from django.urls import get_resolver

django_application = get_asgi_application()
# The first request would import every view on the event loop, for a second.
_ = get_resolver().url_patterns

from codeframe_site.health import health
from codeframe_site.limits import LIMITS, refusal
from codeframe_site.looplag import MONITOR
from codeframe_site.streams import HUB, SiteDoor
from tasks.events.consumers import EventSocket
from tasks.events.sse import EventResponse

_KINDS = {"workspaces": "workspace", "batches": "batch", "runs": "run", "tasks": "task"}
_WHAT = rf"({'|'.join(_KINDS)})/([0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}})"
_SOCKET = re.compile(rf"/ws/{_WHAT}/")
_STREAM = re.compile(rf"/api/v2/{_WHAT}/stream")
_socket = EventSocket.as_asgi(door=SiteDoor(), hub=HUB)
_response = EventResponse.as_asgi(door=SiteDoor(), hub=HUB)


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] not in ("http", "websocket"):
        raise ValueError(f"no handler for {scope['type']}")
    MONITOR.start()
    if scope["type"] == "websocket":
        if _routed(_SOCKET, scope):
            await _socket(scope, receive, send)
        else:
            await send({"type": "websocket.close"})  # a handshake's one refusal: 403
    elif scope["path"] == "/health":
        await health(send)
    elif scope["method"] == "GET" and _routed(_STREAM, scope):
        # Not under the cap: a stream has no thread, and a cap of its own.
        await _response(scope, receive, send)
    elif not LIMITS.enter():
        for message in refusal():
            await send(message)
    else:
        try:
            await django_application(scope, receive, send)
        finally:
            LIMITS.leave()


def _routed(pattern: re.Pattern[str], scope: dict[str, Any]) -> bool:
    """Puts what the path names where Channels' own router would."""
    match = pattern.fullmatch(scope["path"])
    if match:
        scope["url_route"] = {"kwargs": {"kind": _KINDS[match[1]], "id": match[2]}}
    return match is not None
