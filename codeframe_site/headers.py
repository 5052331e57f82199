"""What a browser is told not to do with our pages."""

from django.http import HttpRequest, HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

# No inline script and no inline style: what an agent or a repository wrote can only ever be text.
_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}


def policy(**changes: str) -> str:
    """The policy with some of its lines changed."""
    return "; ".join(f"{name} {value}" for name, value in (_POLICY | changes).items())


POLICY = policy()


class ContentPolicyMiddleware(MiddlewareMixin):
    """Every response gets the policy unless its view chose another."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        response.headers.setdefault("Content-Security-Policy", POLICY)
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        return response
