"""The server itself: a thread per connection, on a free port of loopback."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any

from tests.fakes.model_server.handler import Handler
from tests.fakes.model_server.script import NOTHING, Script, Turn, Usage

SIDE = Turn("Scripted title", usage=Usage(input=20, output=4))


@dataclass(eq=False)
class Request:
    """`fault` is what was done to it; `answered`: the whole answer was sent.

    `side`: it declared no tools, as command lines do for titles and checks; no turn was used.
    `begun` is what an answer that never ended told of its usage at its start (Messages only).
    """

    number: int
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    protocol: str
    model: str = ""
    stream: bool = False
    step: int | None = None
    side: bool = False
    fault: str = ""
    answered: bool = False
    usage: Usage = NOTHING
    begun: Usage = NOTHING
    done: threading.Event = field(default_factory=threading.Event)


class ModelServer:
    """Requests are in the order of their arrival."""

    def __init__(self, scripts: Sequence[Script], *, side: Turn = SIDE) -> None:
        self.scripts = list(scripts)
        self.side = side
        self.requests: list[Request] = []
        self.ended = threading.Event()
        self.released = threading.Event()
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._http.model_server = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def url(self) -> str:
        """Without a path: OpenAI's clients want /v1 behind it."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Ends stalls and holds too."""
        self.ended.set()
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(10)

    def release(self) -> None:
        """Stalled answers are cut."""
        self.released.set()

    def note(self, path: str, headers: Mapping[str, str], body: Any, protocol: str) -> Request:
        with self._lock:
            number = len(self.requests) + 1
            request = Request(number, path, headers, body, protocol)
            self.requests.append(request)
        return request

    def script_for(self, body: Mapping[str, Any]) -> Script | None:
        """The first one whose `when` is in the request, so list the general one last."""
        text = json.dumps(body, ensure_ascii=False)
        return next((script for script in self.scripts if script.when in text), None)

    @property
    def answered(self) -> list[Request]:
        return [request for request in self.requests if request.answered]

    @property
    def told(self) -> Usage:
        """The sum of what was sent to answered calls, side calls included."""
        total = NOTHING
        for request in self.answered:
            total = total.plus(request.usage)
        return total


@contextmanager
def model_server(
    *turns: Turn, scripts: Sequence[Script] = (), **options: Any
) -> Iterator[ModelServer]:
    """One script of these turns, or several scripts. `options`: side."""
    server = ModelServer(scripts or [Script(turns)], **options)
    server.start()
    try:
        yield server
    finally:
        server.close()
