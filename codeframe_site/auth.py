"""Who is asking: a session, or a program's token."""

from django.contrib.auth.models import AbstractBaseUser
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from codeframe_site.models import ApiToken
from codeframe_site.tokens import find_token

MAX_KEY = 200


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer KEY` or `X-API-Key: KEY`."""

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, ApiToken] | None:
        key = _key(request)
        if key is None:
            return None
        token = find_token(key) if len(key) <= MAX_KEY else None
        if token is None:
            raise AuthenticationFailed("the token is unknown, expired or revoked")
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="codeframe"'


def _key(request: Request) -> str | None:
    given = request.headers.get("X-API-Key")
    if given:
        return str(given).strip()
    scheme, _, rest = str(request.headers.get("Authorization", "")).partition(" ")
    return rest.strip() if scheme.lower() == "bearer" and rest.strip() else None
