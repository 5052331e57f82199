"""GET /api/docs: the API for reading and trying out, from local files alone."""

from typing import Any

from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from codeframe_site.headers import policy


class DocsView(SpectacularSwaggerSplitView):
    """The sidecar's page styles itself inline."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        response: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
        response["Content-Security-Policy"] = policy(**{"style-src": "'self' 'unsafe-inline'"})
        return response
