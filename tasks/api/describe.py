"""What the OpenAPI document says of each endpoint, in one line above its method."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiRequest,
    OpenApiResponse,
    extend_schema,
)

from tasks.api.shapes import ErrorShape

F = TypeVar("F", bound=Callable[..., Any])
BYTES = OpenApiTypes.BINARY
ALWAYS = (401, 403, 404, 422, 429, 500, 503)
OF_A_BODY = (400, 413, 415)

MEANS: dict[int, tuple[str, str, str, str]] = {
    400: ("Malformed, or not possible now", "Cannot stop batch", "INVALID_STATE", "it is DONE"),
    401: ("No valid session or token", "Sign in or send a token", "UNAUTHORIZED", "no credentials"),
    403: ("The scope or the role is too low", "Forbidden", "FORBIDDEN", "this needs write"),
    404: ("It does not exist, or not for you", "Not found", "NOT_FOUND", "no such task"),
    409: (
        "Somebody else was faster, or holds it",
        "A batch is already running in this workspace",
        "CONFLICT",
        "batch d79a4389 is RUNNING in this workspace",
    ),
    413: ("The body is too large", "Body too large", "INVALID_REQUEST", "larger than 2 MB"),
    415: ("Not JSON in UTF-8", "Send application/json", "INVALID_REQUEST", "unsupported"),
    422: ("A value is not valid", "Invalid input", "VALIDATION_ERROR", "limit: must be a number"),
    429: ("Too many requests; see Retry-After", "Too many requests", "RATE_LIMITED", "wait 3 s"),
    500: ("Our fault; the log knows the reference", "Internal error", "INTERNAL_ERROR", "3f2a"),
    503: (
        "The database does not answer, or too many requests are under way; see Retry-After",
        "Service unavailable",
        "SERVICE_UNAVAILABLE",
        "the database does not answer",
    ),
}
"""Status -> what it means, and an example: error, code, detail."""


def describe(
    name: str,
    summary: str,
    *,
    returns: Any = None,
    status: int = 200,
    waits: bool = False,
    takes: Any = None,
    query: Iterable[OpenApiParameter] = (),
    errors: Sequence[int] = (),
    example: Any = None,
) -> Callable[[F], F]:
    """`name` is unique among all. `waits`: 202 too, and `Prefer: wait=N` is understood."""
    first = (status, "application/octet-stream") if returns is BYTES else status
    responses: dict[Any, Any] = {first: _answer(returns)}
    if waits:
        responses[202] = _answer(returns, "It goes on; look at Location")
    of_body = OF_A_BODY if takes else ()
    for code in sorted({*ALWAYS, *of_body, *errors}):
        responses[code] = _refusal(code)
    decorate: Callable[[F], F] = extend_schema(
        operation_id=name,
        summary=summary,
        parameters=[*query, *([PREFER] if waits else [])],
        request=OpenApiRequest(takes, examples=_examples(example)) if takes else None,
        responses=responses,
    )
    return decorate


def _answer(returns: Any, text: str = "") -> Any:
    if returns is None:
        return OpenApiResponse(description="Done; there is no body")
    if returns is BYTES:
        return OpenApiResponse(returns, description="The bytes as they are")
    return OpenApiResponse(returns, description=text)


def _examples(example: Any) -> list[OpenApiExample]:
    return [] if example is None else [OpenApiExample("Example", example, request_only=True)]


def _refusal(status: int) -> OpenApiResponse:
    text, error, code, detail = MEANS[status]
    value = {"detail": {"error": error, "code": code, "detail": detail}}
    shown = OpenApiExample(error, value, response_only=True, status_codes=[str(status)])
    return OpenApiResponse(ErrorShape, description=text, examples=[shown])


def asked(name: str, text: str, kind: Any = str, **extra: Any) -> OpenApiParameter:
    return OpenApiParameter(name, kind, OpenApiParameter.QUERY, description=text, **extra)


def counted(name: str, text: str, least: int, most: int, default: int) -> OpenApiParameter:
    schema = {"type": "integer", "minimum": least, "maximum": most, "default": default}
    return OpenApiParameter(name, schema, OpenApiParameter.QUERY, description=text)


def paged(orders: Iterable[str], *, default: int, maximum: int) -> list[OpenApiParameter]:
    names = list(orders)
    return [
        counted("limit", "Rows on a page", 1, maximum, default),
        asked("cursor", "`next_cursor` of the page before"),
        asked("order", "How it is sorted", enum=names, default=names[0]),
    ]


def one_of(name: str, text: str, values: Iterable[str]) -> OpenApiParameter:
    """Several, with commas; any case. The schema lists the words and stays a plain text."""
    return asked(name, f"{text}: {', '.join(values)}; several with commas")


WORKSPACE = [
    asked("workspace", "Id or name; needed where one sees more than one"),
    asked("workspace_path", "Instead: the repository's path"),
]
PREFER = OpenApiParameter(
    "Prefer",
    str,
    OpenApiParameter.HEADER,
    description="`wait=N`: answer when it has come to rest, at most N (30) seconds later",
)
