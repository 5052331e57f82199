"""ASGI entry point: health from the loop, everything else through Django under a cap."""

import os
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


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        raise ValueError(f"no handler for {scope['type']}")
    MONITOR.start()
    if scope["path"] == "/health":
        await health(send)
        return
    if not LIMITS.enter():
        for message in refusal():
            await send(message)
        return
    try:
        await django_application(scope, receive, send)
    finally:
        LIMITS.leave()
