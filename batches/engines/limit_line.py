"""How any program says that its provider's limit is reached: one line of JSON, and a failed exit.

{"codeframe": "limit", "retry_after_s": 3, "message": "429 from the provider"}
"""

from dataclasses import dataclass

from batches.engines.fields import parse_object, seconds, text


@dataclass(frozen=True, slots=True)
class LimitLine:
    retry_after_s: float | None
    message: str


def limit_in(*outputs: bytes) -> LimitLine | None:
    """The last such line."""
    lines = [line for output in outputs for line in output.splitlines() if b"codeframe" in line]
    for line in reversed(lines):
        found = parse_object(line)
        if found is not None and text(found, "codeframe") == "limit":
            return LimitLine(seconds(found, "retry_after_s"), text(found, "message")[:300])
    return None
