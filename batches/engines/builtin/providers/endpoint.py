"""Where a provider is, and how long to wait for it."""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """`silence_s`: longest time without a piece of the answer; `answer_s`: of a whole answer."""

    base_url: str
    model: str
    key: str = field(default="", repr=False)
    silence_s: float = 120.0
    answer_s: float = 900.0
