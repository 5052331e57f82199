"""Errors that no view made: JSON in the one shape below /api/, a page in words elsewhere."""

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import csrf, defaults

from codeframe_site.errors import RETRY_AFTER_SECONDS, is_api, json_error, unexpected


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_api(request):
        return json_error(400, "Invalid request", "INVALID_REQUEST")
    return defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_api(request):
        return json_error(403, "Forbidden", "FORBIDDEN")
    return defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_api(request):
        return json_error(404, "Not found", "NOT_FOUND", "there is no such path")
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    error = sys.exc_info()[1]
    if isinstance(error, OperationalError | InterfaceError):
        return _unavailable(request)
    if is_api(request):
        return JsonResponse(unexpected(error or RuntimeError("unknown")), status=500)
    return defaults.server_error(request)


def _unavailable(request: HttpRequest) -> HttpResponse:
    """No database, or no connection to it free."""
    text = "the database does not answer"
    if is_api(request):
        response = json_error(503, "Service unavailable", "SERVICE_UNAVAILABLE", text)
    else:
        response = HttpResponse(f"{text.capitalize()}; try again.", "text/plain", status=503)
    response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    if is_api(request):
        return json_error(403, "Forbidden", "FORBIDDEN", reason)
    return csrf.csrf_failure(request, reason)
