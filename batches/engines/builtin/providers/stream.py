"""One POST whose answer streams as server-sent events; every way to fail has its own error."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2 as httpx

from batches.engines.builtin.errors import ErrorKind, ProviderError
from batches.engines.builtin.providers.endpoint import Endpoint

CONNECT_S = 15.0
LONGEST_LINE = 16 * 1024 * 1024
MOST_ERROR_BYTES = 64 * 1024
SHOWN = 500
KINDS: dict[int, ErrorKind] = {
    401: "auth",
    403: "auth",
    402: "rate_limited",
    429: "rate_limited",
    408: "server_error",
    409: "server_error",
}
QUOTA = {"insufficient_quota", "billing_hard_limit_reached"}
"""OpenAI's codes of a 429 that no waiting mends."""
Event = Mapping[str, Any]


class Stream:
    """Keeps its connection between requests."""

    def __init__(self, endpoint: Endpoint) -> None:
        timeout = httpx.Timeout(endpoint.silence_s, connect=min(CONNECT_S, endpoint.silence_s))
        self._client = httpx.Client(timeout=timeout)
        self._endpoint = endpoint

    def post(self, path: str, body: Event, headers: Mapping[str, str]) -> Iterator[Event]:
        """The events' data. Raises ProviderError."""
        url = self._endpoint.base_url.rstrip("/") + path
        try:
            with self._client.stream("POST", url, json=body, headers=dict(headers)) as response:
                _check(response)
                yield from self._events(response)
        except httpx.ConnectError as error:
            raise ProviderError("unreachable", f"{url}: {error}") from error
        except httpx.ConnectTimeout as error:
            raise ProviderError("unreachable", f"{url} does not answer") from error
        except httpx.TimeoutException as error:
            raise ProviderError("stalled", "The provider fell silent in mid-answer.") from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise ProviderError("cut", f"The provider's answer broke off: {error}") from error
        except (httpx.InvalidURL, UnicodeEncodeError) as error:
            raise ProviderError("bad_request", f"{url}: {error}") from error

    def _events(self, response: httpx.Response) -> Iterator[Event]:
        deadline = time.monotonic() + self._endpoint.answer_s
        for line in _lines(response):
            if time.monotonic() > deadline:
                raise ProviderError("stalled", "The provider's answer took too long.")
            name, _, data = line.partition(b":")
            if name != b"data":
                continue
            if data.strip() == b"[DONE]":
                return
            yield _parse(data)


def _lines(response: httpx.Response) -> Iterator[bytes]:
    pending = b""
    for data in response.iter_bytes():
        *whole, pending = (pending + data).split(b"\n")
        yield from (line.rstrip(b"\r") for line in whole)
        if len(pending) > LONGEST_LINE:
            raise ProviderError("malformed", "The provider sent a line without an end.")
    if pending:
        yield pending


def _parse(data: bytes) -> Event:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ProviderError("malformed", f"The provider sent broken JSON: {error}") from error
    if not isinstance(event, dict):
        raise ProviderError("malformed", "The provider sent JSON that is no object.")
    return event


def _check(response: httpx.Response) -> None:
    if response.status_code != 200:
        raise _refused(response)
    kind = response.headers.get("content-type", "")
    if "event-stream" not in kind:
        said = _beginning(response)[:SHOWN].decode("utf-8", "replace")
        raise ProviderError("malformed", f"The provider sent {kind or 'no stream'}: {said}")


def _refused(response: httpx.Response) -> ProviderError:
    status = response.status_code
    raw = _beginning(response)
    detail = error_of(raw)
    text = str(detail.get("message") or "") or raw.decode("utf-8", "replace")
    kind = KINDS.get(status) or ("server_error" if status >= 500 else "bad_request")
    if kind == "bad_request" and is_too_long(detail):
        kind = "context"
    return ProviderError(
        kind,
        f"{status}: {text[:SHOWN].strip()}",
        status=status,
        retry_after_s=_retry_after(response.headers),
        final=status == 402 or detail.get("code") in QUOTA,
    )


def _beginning(response: httpx.Response) -> bytes:
    data = b""
    for piece in response.iter_bytes():
        data += piece
        if len(data) >= MOST_ERROR_BYTES:
            break
    return data


def error_of(raw: bytes) -> Event:
    """What Anthropic and OpenAI call the error; local servers send a string or nothing."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, str):
        return {"message": error}
    return error if isinstance(error, dict) else {}


def is_too_long(detail: Event) -> bool:
    """OpenAI has a code for it, Anthropic only words."""
    said = str(detail.get("message") or "").lower()
    return detail.get("code") == "context_length_exceeded" or "prompt is too long" in said


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from a number or a date."""
    told = headers.get("retry-after", "").strip()
    if not told:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d+)?", told):
        return float(told)
    try:
        return max(0.0, parsedate_to_datetime(told).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
