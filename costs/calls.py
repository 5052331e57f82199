"""A model call as an engine tells it; no rows and no Django, so any part may make one."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from costs.tokens import MOST, NAMES, Tokens

MOST_DOLLARS = Decimal(10**6)


@dataclass(frozen=True, kw_only=True)
class Call:
    """`tokens` are of this call, not cumulative. `calls` 0 only settles earlier ones.

    `settles`: all that was told of this run and model before is exact with it, and `reported_usd`
    covers it all. Raises ValueError for counts and costs that cannot be.
    """

    call_id: str
    agent: str
    model: str
    at: datetime
    provider: str = ""
    tokens: Tokens = field(default_factory=Tokens)
    calls: int = 1
    reported_usd: Decimal | None = None
    estimated: bool = False
    settles: bool = False
    note: str = ""

    def __post_init__(self) -> None:
        counts = (self.calls, *(getattr(self.tokens, name) for name in NAMES))
        if min(counts) < 0 or max(counts) > MOST:
            raise ValueError(f"call {self.call_id}: a count is from 0 to {MOST}")
        cost = self.reported_usd
        if cost is not None and not (cost.is_finite() and 0 <= cost <= MOST_DOLLARS):
            raise ValueError(f"call {self.call_id}: a cost is from 0 to {MOST_DOLLARS} dollars")
