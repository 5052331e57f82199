"""ASGI entry point: health and streams from the loop, the rest through Django under a cap."""

import asyncio
import os
import re
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, cast

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codeframe_site.settings")

import django

django.setup(set_prefix=False)

from django.conf import settings
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.db import close_old_connections
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import get_resolver, set_script_prefix

# The first request would import every view on the event loop, for a second.
_ = get_resolver().url_patterns

from codeframe_site.health import health
from codeframe_site.limits import LIMITS, PATIENCE_S, TURNSTILE, refusal
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


class OneVisitHandler(ASGIHandler):
    """A request is one visit to one of the kept threads, from its first middleware to its last.

    Django's own handler goes back and forth between loop and a new thread a dozen times for
    each request, which takes longer than the view.
    """

    def __init__(self) -> None:
        self.load_middleware(is_async=False)
        self._threads = ThreadPoolExecutor(settings.MAX_REQUESTS, thread_name_prefix="request")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Counted in LIMITS until its thread is free, also when the client left before that."""
        loop = asyncio.get_running_loop()
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            LIMITS.leave()
            return
        visit: Future[HttpResponseBase] = Future()
        visit.set_running_or_notify_cancel()  # a thread is not ended by who no longer waits for it
        visit.add_done_callback(lambda _: loop.call_soon_threadsafe(LIMITS.leave))
        answer = asyncio.wrap_future(visit)
        begin = partial(self._threads.submit, self._visit, visit, scope, body)
        TURNSTILE.come(begin)
        late = loop.call_later(PATIENCE_S, TURNSTILE.hurry, begin)
        gone = asyncio.ensure_future(receive())
        try:
            await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                await self._send(answer.result(), send, gone)
        finally:
            late.cancel()
            gone.cancel()

    def _visit(self, visit: Future[HttpResponseBase], scope: Any, body: Any) -> None:
        """A thread's outermost frame: what is raised here is Django's fault, or ours in here."""
        with TURNSTILE.inside():
            try:
                visit.set_result(self._respond(scope, body))
            except BaseException as error:
                visit.set_exception(error)

    def _respond(self, scope: Any, body: Any) -> HttpResponseBase:
        """Everything that may touch the database, whose connection is given back."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refused = self.create_request(scope, body)
        response: Any = refused if request is None else self.get_response(request)
        if response.streaming and response.is_async:
            close_old_connections()
            return cast("HttpResponseBase", response)
        if response.streaming:
            response = _whole(response)
        response.close()
        return cast("HttpResponseBase", response)

    async def _send(self, response: HttpResponseBase, send: Any, gone: Any) -> None:
        if not response.streaming:
            await self.send_response(response, send)
            return
        sending = asyncio.ensure_future(self.send_response(response, send))
        try:
            await asyncio.wait((sending, gone), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                await sending
        finally:
            sending.cancel()
            self._threads.submit(response.close)


def _whole(response: Any) -> HttpResponse:
    """A file's pieces joined where reading them holds up nobody."""
    whole = HttpResponse(b"".join(response), status=response.status_code, headers=response.headers)
    whole.cookies = response.cookies
    response.close()
    return whole


django_application = OneVisitHandler()


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
        await django_application(scope, receive, send)


def _routed(pattern: re.Pattern[str], scope: dict[str, Any]) -> bool:
    """Puts what the path names where Channels' own router would."""
    match = pattern.fullmatch(scope["path"])
    if match:
        scope["url_route"] = {"kwargs": {"kind": _KINDS[match[1]], "id": match[2]}}
    return match is not None
