"""What the log says of requests that were refused."""

import logging
from io import StringIO

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path

from codeframe_site.logs import MaskingFormatter


def forbidden(request: HttpRequest) -> HttpResponse:
    raise PermissionDenied


def suspicious(request: HttpRequest) -> HttpResponse:
    raise SuspiciousOperation("odd")


def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("ours")


def handler403(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Without the site's own page, whose links these paths do not have."""
    return HttpResponse(status=403)


urlpatterns = [path("forbidden", forbidden), path("suspicious", suspicious), path("broken", broken)]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("asked", "host", "refused"),
    [
        ("/forbidden", "testserver", True),
        ("/suspicious", "testserver", True),
        ("/forbidden", "evil.example", True),
        ("/broken", "testserver", False),
    ],
)
def test_a_refusal_is_one_line_and_a_fault_of_ours_has_its_traceback(
    asked: str, host: str, refused: bool
) -> None:
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(MaskingFormatter("%(message)s"))
    logger = logging.getLogger("django")
    logger.addHandler(handler)
    try:
        with override_settings(ROOT_URLCONF=__name__):
            Client(raise_request_exception=False).get(asked, HTTP_HOST=host)
    finally:
        logger.removeHandler(handler)
    found = stream.getvalue()
    assert ("Traceback" in found) != refused
    assert (len(found.splitlines()) == 1) == refused
