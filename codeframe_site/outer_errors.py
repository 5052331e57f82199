"""Errors that no view made: JSON in the one shape below /api/, a page in words elsewhere."""

import sys

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import csrf, defaults

from codeframe_site.errors import is_api, json_error, unexpected


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
    if is_api(request):
        error = sys.exc_info()[1]
        return JsonResponse(unexpected(error or RuntimeError("unknown")), status=500)
    return defaults.server_error(request)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    if is_api(request):
        return json_error(403, "Forbidden", "FORBIDDEN", reason)
    return csrf.csrf_failure(request, reason)
