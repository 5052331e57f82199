"""How often a caller may ask, by class of call; counted over all web processes."""

from functools import cache
from typing import Any, ClassVar

from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

from codeframe_site.rates import wait_s

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
STARTING = ("/execute", "/approve", "/start", "/resume", "/retry", "/answer")


class CallThrottle(BaseThrottle):
    """The class is told by the request, so the rate is looked up when it comes."""

    THROTTLE_RATES: ClassVar[dict[str, Any]] = api_settings.DEFAULT_THROTTLE_RATES

    def __init__(self) -> None:
        self._wait = 0.0

    def allow_request(self, request: Request, view: Any) -> bool:
        scope = call_class(request)
        limit, duration_s = parsed(self.THROTTLE_RATES[scope])
        user = request.user
        ident = user.pk if user and user.is_authenticated else self.get_ident(request)
        self._wait = wait_s(f"{scope} {ident}", limit=limit, duration_s=duration_s)
        return not self._wait

    def wait(self) -> float | None:
        return self._wait or None


@cache
def parsed(rate: str) -> tuple[int, float]:
    """`600/min` as a number and seconds."""
    number, _, period = rate.partition("/")
    return int(number), float(_SECONDS[period[0]])


def call_class(request: Request) -> str:
    if request.method in SAFE_METHODS:
        return "read"
    return "start" if request.path.endswith(STARTING) else "write"
