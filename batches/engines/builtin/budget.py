"""What one start of the agent may take; a request in flight is the most that goes beyond."""

from dataclasses import dataclass, field
from decimal import Decimal

from costs.tokens import Tokens

PER_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, kw_only=True)
class Price:
    """Dollars per million tokens."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal

    def of(self, tokens: Tokens) -> Decimal:
        total = (
            self.input * tokens.input
            + self.output * tokens.output
            + self.cache_read * tokens.cache_read
            + self.cache_write * tokens.cache_write
        )
        return total / PER_MILLION


class LimitReached(Exception):
    """`kind` is turns, tokens or dollars."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


@dataclass
class Budget:
    """None is no limit. Tokens count all of them: fresh, cached and put out."""

    max_turns: int
    max_tokens: int | None = None
    max_dollars: Decimal | None = None
    price: Price | None = None
    turns: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    dollars: Decimal = Decimal(0)

    def check(self) -> None:
        """Before each request. Raises LimitReached."""
        if self.turns >= self.max_turns:
            raise LimitReached("turns", f"The agent took its {self.max_turns} turns.")
        if self.max_tokens is not None and self.total >= self.max_tokens:
            said = f"The agent used {self.total:,} of {self.max_tokens:,} tokens."
            raise LimitReached("tokens", said)
        if self.max_dollars is not None and self.dollars >= self.max_dollars:
            said = f"The agent spent ${self.dollars:f} of ${self.max_dollars:f}."
            raise LimitReached("dollars", said)

    def add(self, tokens: Tokens) -> Decimal | None:
        """Its cost in dollars, or None without a price."""
        self.tokens = self.tokens.plus(tokens)
        if self.price is None:
            return None
        cost = self.price.of(tokens)
        self.dollars += cost
        return cost

    @property
    def total(self) -> int:
        used = self.tokens
        return used.input + used.cache_read + used.cache_write + used.output

    def most_output(self, wanted: int) -> int:
        """So that the last reply does not go far beyond the limit."""
        if self.max_tokens is None:
            return wanted
        return max(1, min(wanted, self.max_tokens - self.total))
