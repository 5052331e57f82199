"""Calls that block and yet may stay on the event loop, each with the longest it can take.

The rule: shorter than the shortest time-out that runs there. `manage.py check` compares the two,
and a test of the architecture finds the calls that are not listed.
"""

from dataclasses import dataclass

from codeframe_site.limits import PATIENCE_S
from codeframe_site.looplag import BOUND_SECONDS

HEARTBEAT_S = 15.0
HEALTH_S = 1.0


@dataclass(frozen=True, kw_only=True)
class LoopCall:
    """`call` as the source has it, in the async function `function` of `file`."""

    file: str
    function: str
    call: str
    bound_s: float
    why: str


ALLOWED = (
    LoopCall(
        file="codeframe_site/asgi.py",
        function="__call__",
        call="answer.result",
        bound_s=0.001,
        why="the future is done: this takes what is there, and waits for nothing",
    ),
    LoopCall(
        file="tasks/events/stream.py",
        function="serve",
        call="self._hub.join",
        bound_s=0.001,
        why="no thread's join: it puts the stream among those of its workspace",
    ),
)

SHORTEST_S = {
    "the bound of the loop's lag": BOUND_SECONDS,
    "a request's patience at the turnstile": PATIENCE_S,
    "a balancer's look at /health": HEALTH_S,
    "the heartbeat of a stream": HEARTBEAT_S,
}
