"""Passwords cannot be guessed quickly: attempts are counted per name and address."""

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin

from codeframe_site.rates import wait_s
from codeframe_site.throttles import CallThrottle, parsed
from tasks.text import clip

FORMS = ("login", "admin:login")
FROM_ONE_ADDRESS = 6
"""Times the rate of one name: whoever tries many names is slowed down too."""


class SignInThrottleMiddleware(MiddlewareMixin):
    """The address is that of the connection: a forwarded one is whatever the caller says."""

    def process_request(self, request: HttpRequest) -> HttpResponseBase | None:
        if request.method != "POST" or request.path not in (
            reverse("login"),
            reverse("admin:login"),
        ):
            return None
        wait = _wait_s(request)
        if not wait:
            return None
        return HttpResponse(
            "Too many attempts to sign in; try again in a minute.",
            status=429,
            content_type="text/plain",
            headers={"Retry-After": str(int(wait) + 1)},
        )


def _wait_s(request: HttpRequest) -> float:
    """Each attempt counts for its name and for its address; a refused one for neither again."""
    address = request.META.get("REMOTE_ADDR", "")
    name = clip(request.POST.get("username", ""), 200).lower()
    limit, duration_s = parsed(CallThrottle.THROTTLE_RATES["login"])
    of_name = wait_s(f"login {address} {name}", limit=limit, duration_s=duration_s)
    of_address = wait_s(f"login {address}", limit=limit * FROM_ONE_ADDRESS, duration_s=duration_s)
    return max(of_name, of_address)
