"""The product's urls, and beside them a view that does nothing: the ceiling of this machine."""

from django.http import HttpRequest, HttpResponse
from django.urls import path

from codeframe_site.urls import urlpatterns as product

BODY = b"x" * 30_000
"""As large as a page of 50 tasks."""


def bare(request: HttpRequest) -> HttpResponse:
    return HttpResponse(BODY, content_type="application/json")


urlpatterns = [path("bare", bare), *product]
