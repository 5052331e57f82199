"""How often a caller may ask, by class of call; counted per web process."""

from typing import Any

from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

STARTING = ("/execute", "/approve", "/start", "/resume", "/retry", "/answer")


class CallThrottle(SimpleRateThrottle):
    """The class is told by the request, so the rate is looked up when it comes."""

    def __init__(self) -> None:
        """The rate follows in `allow_request`."""

    def allow_request(self, request: Request, view: Any) -> bool:
        self.scope = call_class(request)
        self.rate = self.THROTTLE_RATES[self.scope]
        self.num_requests, self.duration = self.parse_rate(self.rate)
        return bool(super().allow_request(request, view))

    def get_cache_key(self, request: Request, view: Any) -> str:
        user = request.user
        ident = user.pk if user and user.is_authenticated else self.get_ident(request)
        return self.cache_format % {"scope": self.scope, "ident": ident}


def call_class(request: Request) -> str:
    if request.method in SAFE_METHODS:
        return "read"
    return "start" if request.path.endswith(STARTING) else "write"
