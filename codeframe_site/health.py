"""GET /health, answered by the loop alone: no thread, no database, no Django."""

import json
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any

from codeframe_site.limits import LIMITS
from codeframe_site.looplag import MONITOR

Send = Callable[[dict[str, Any]], Awaitable[None]]
STARTED = time.monotonic()


async def health(send: Send) -> None:
    """That it answers is the news; the numbers say how well."""
    body = json.dumps(
        {
            "status": "ok",
            "uptime_s": round(time.monotonic() - STARTED, 1),
            "pid": os.getpid(),
            "loop": MONITOR.state(),
            "requests": LIMITS.state(),
        }
    ).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"cache-control", b"no-store"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
