"""Passwords cannot be guessed quickly: attempts are counted per name and address."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from rest_framework.throttling import SimpleRateThrottle

from tasks.text import clip

FROM_ONE_ADDRESS = 6
"""Times the rate of one name: whoever tries many names is slowed down too."""


class SignInThrottle(SimpleRateThrottle):
    scope = "login"

    def __init__(self, ident: str, factor: int = 1) -> None:
        super().__init__()
        self.ident = ident
        requests, self.duration = self.parse_rate(self.get_rate())
        self.num_requests = (requests or 0) * factor

    def get_cache_key(self, request: Any, view: Any) -> str:
        return self.cache_format % {"scope": self.scope, "ident": self.ident}


class SignInThrottleMiddleware(MiddlewareMixin):
    """The address is that of the connection: a forwarded one is whatever the caller says."""

    def process_request(self, request: HttpRequest) -> HttpResponseBase | None:
        if request.method != "POST" or request.path != reverse("admin:login"):
            return None
        address = request.META.get("REMOTE_ADDR", "")
        name = clip(request.POST.get("username", ""), 200).lower().encode().hex()
        throttles = [SignInThrottle(f"{address}-{name}"), SignInThrottle(address, FROM_ONE_ADDRESS)]
        # Both count each attempt, so no list: `all` would stop at the first refusal.
        allowed = [throttle.allow_request(request, None) for throttle in throttles]  # type: ignore[arg-type]
        if all(allowed):
            return None
        wait = max(throttle.wait() or 1 for throttle in throttles)
        return HttpResponse(
            "Too many attempts to sign in; try again in a minute.",
            status=429,
            content_type="text/plain",
            headers={"Retry-After": str(int(wait) + 1)},
        )
