"""JSON of programs: bounded, whole, and only what can be stored."""

import json
import math
from collections.abc import Iterator
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import APIException, ParseError, UnsupportedMediaType
from rest_framework.parsers import BaseParser

from tasks.errors import ValidationFailed
from tasks.text import storable

MAX_DEPTH = 64


class BodyTooLarge(APIException):
    status_code = 413
    default_detail = "the body is larger than this server takes"


class StrictJsonParser(BaseParser):
    """What is not JSON is 400; JSON that nobody can keep (NaN, NUL, half a character) is 422."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Any = None,
    ) -> Any:
        _refuse_charset(media_type or "")
        body = stream.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
        if len(body) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise BodyTooLarge()
        value = _decoded(body)
        problem = next(_problems(value), "")
        if problem:
            raise ValidationFailed(f"body: {problem}")
        return value


def _refuse_charset(media_type: str) -> None:
    _, _, parameters = media_type.partition(";")
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        named = value.strip().strip('"').lower()
        if name.strip().lower() == "charset" and named not in ("utf-8", "utf8"):
            raise UnsupportedMediaType(media_type)


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body.decode())
    except RecursionError:
        raise ValidationFailed("body: is nested too deeply") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ParseError(f"the body is not JSON: {error}") from None
    except ValueError:  # Python's own bound on the digits of a number
        raise ValidationFailed("body: holds a number with too many digits") from None


def _problems(value: Any) -> Iterator[str]:
    """Iterative: the depth is the caller's choice."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            yield "is nested too deeply"
            return
        for item in level:
            yield from _problem(item)
        level = [inner for item in level for inner in _inside(item)]


def _problem(item: Any) -> Iterator[str]:
    if isinstance(item, str) and storable(item) != item:
        yield "holds a character that cannot be stored (NUL, or half of one)"
    if isinstance(item, float) and not math.isfinite(item):
        yield "holds a number that is not finite"


def _inside(item: Any) -> list[Any]:
    if isinstance(item, dict):
        return [*item, *item.values()]
    return item if isinstance(item, list) else []
