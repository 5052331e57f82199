"""The one error shape, from every layer:

{"detail": {"error": short, "code": CODE, "detail": text or null, "errors": {field: [...]}}}
"""

import logging
import uuid
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import (
    ObjectDoesNotExist,
    PermissionDenied,
    SuspiciousOperation,
    ValidationError,
)
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from tasks.errors import DomainError

log = logging.getLogger(__name__)

STATUS = {
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "INVALID_REQUEST": 400,
    "VALIDATION_ERROR": 422,
    "INVALID_TASK_IDS": 422,
    "UNAUTHORIZED": 401,
    "FORBIDDEN": 403,
    "INVALID_STATE": 400,
    "CONFLICT": 409,
    "EXECUTION_FAILED": 500,
    "TIMEOUT": 504,
    "UPSTREAM_AUTH_FAILED": 502,
    "RATE_LIMITED": 429,
    "INTERNAL_ERROR": 500,
    "SERVICE_UNAVAILABLE": 503,
}
TITLES = {
    "NOT_FOUND": "Not found",
    "INVALID_REQUEST": "Invalid request",
    "VALIDATION_ERROR": "Invalid input",
    "INVALID_TASK_IDS": "Invalid task ids",
    "FORBIDDEN": "Forbidden",
    "INVALID_STATE": "Not possible in this state",
    "CONFLICT": "Conflict",
    "SERVICE_UNAVAILABLE": "Service unavailable",
}
RETRY_AFTER_SECONDS = 2


def error_body(
    error: str, code: str, detail: str | None = None, errors: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    body: dict[str, Any] = {"error": error, "code": code, "detail": detail}
    if errors:
        body["errors"] = dict(errors)
    return {"detail": body}


def exception_handler(error: Exception, context: Mapping[str, Any]) -> Response:
    """DRF's hook: nothing that a view raises leaves in another shape, and no traceback leaks."""
    set_rollback()
    if isinstance(error, DomainError):
        return _domain(error)
    if isinstance(error, exceptions.APIException):
        return _api(error)
    if isinstance(error, Http404):
        return Response(error_body("Not found", "NOT_FOUND"), status=404)
    if isinstance(error, ObjectDoesNotExist):
        # It was there when it was looked up, and somebody has deleted it since.
        log.warning("gone while it was asked for: %s", error)
        return Response(error_body("Not found", "NOT_FOUND", "it is no longer there"), status=404)
    if isinstance(error, PermissionDenied):
        return Response(error_body("Forbidden", "FORBIDDEN"), status=403)
    if isinstance(error, ValidationError | SuspiciousOperation):
        return Response(error_body("Invalid request", "INVALID_REQUEST"), status=400)
    if isinstance(error, OperationalError | InterfaceError):
        return _unavailable(error)
    return Response(unexpected(error), status=500)


def unexpected(error: BaseException) -> dict[str, Any]:
    """Logged with its traceback under a number that the caller is told, and nothing else."""
    reference = uuid.uuid4().hex[:12]
    log.error("unexpected error %s", reference, exc_info=error)
    detail = f"An internal error occurred. Reference: {reference}"
    return error_body("Internal error", "INTERNAL_ERROR", detail)


def _domain(error: DomainError) -> Response:
    title = getattr(error, "title", "") or TITLES.get(error.code, "Error")
    body = error_body(title, error.code, error.message, error.fields)
    return Response(body, status=getattr(error, "status", STATUS[error.code]))


def _api(error: exceptions.APIException) -> Response:
    headers = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait) + 1)
    if isinstance(error, exceptions.ValidationError):
        fields = _fields(error.detail)
        name, sentences = next(iter(fields.items()))
        sentence = f"{name}: {sentences[0]}" if name else sentences[0]
        body = error_body("Invalid input", "VALIDATION_ERROR", sentence, fields)
        return Response(body, status=422)
    for kind, (status, code, title) in _API.items():
        if isinstance(error, kind):
            return Response(
                error_body(title, code, str(error.detail)), status=status, headers=headers
            )
    title = _TITLES_BY_STATUS.get(error.status_code, "Invalid request")
    body = error_body(title, "INVALID_REQUEST", str(error.detail))
    return Response(body, status=error.status_code, headers=headers)


_TITLES_BY_STATUS = {413: "Body too large"}


_API: dict[type[exceptions.APIException], tuple[int, str, str]] = {
    exceptions.NotAuthenticated: (401, "UNAUTHORIZED", "Sign in or send a token"),
    exceptions.AuthenticationFailed: (401, "UNAUTHORIZED", "Not signed in"),
    exceptions.PermissionDenied: (403, "FORBIDDEN", "Forbidden"),
    exceptions.NotFound: (404, "NOT_FOUND", "Not found"),
    exceptions.MethodNotAllowed: (405, "INVALID_REQUEST", "Method not allowed"),
    exceptions.NotAcceptable: (406, "INVALID_REQUEST", "Not acceptable"),
    exceptions.UnsupportedMediaType: (415, "INVALID_REQUEST", "Send application/json"),
    exceptions.Throttled: (429, "RATE_LIMITED", "Too many requests"),
    exceptions.ParseError: (400, "INVALID_REQUEST", "Malformed request"),
}


def _fields(detail: Any) -> dict[str, list[str]]:
    """Nested errors flattened to dotted names."""
    if isinstance(detail, dict):
        flat: dict[str, list[str]] = {}
        for name, value in detail.items():
            for inner, sentences in _fields(value).items():
                flat[f"{name}.{inner}" if inner else str(name)] = sentences
        return flat
    if isinstance(detail, list) and any(isinstance(item, dict) for item in detail):
        return _fields({str(i): item for i, item in enumerate(detail) if item})
    sentences = detail if isinstance(detail, list) else [detail]
    return {"": [str(sentence) for sentence in sentences]}


def _unavailable(error: Exception) -> Response:
    log.warning("database: %s", (str(error).splitlines() or ["no answer"])[0])
    return Response(
        error_body("Service unavailable", "SERVICE_UNAVAILABLE", "the database does not answer"),
        status=503,
        headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
    )


# -- what never reached a view -------------------------------------------------------------------


def json_error(status: int, error: str, code: str, detail: str | None = None) -> HttpResponse:
    return JsonResponse(error_body(error, code, detail), status=status)


def is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")
