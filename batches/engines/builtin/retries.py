"""Asks a provider again where that may help: few times, and not for long."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from batches.engines.builtin.errors import ProviderError
from batches.engines.builtin.output import Output

T = TypeVar("T")
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 20.0
NAP_S = 5.0


@dataclass(frozen=True)
class Retries:
    """`longest_wait_s`: a provider that asks for more than that is not waited for."""

    output: Output
    most: int
    longest_wait_s: float
    sleep: Callable[[float], None] = time.sleep

    def run(self, ask: Callable[[], T]) -> T:
        """Raises ProviderError, the last one."""
        failed = 0
        while True:
            try:
                return ask()
            except ProviderError as error:
                failed += 1
                wait = self._wait(error, failed)
                if wait is None:
                    raise
                self.output.say(
                    "retry", kind=error.kind, status=error.status, wait_s=wait, text=error.text
                )
                self._sleep(wait)

    def _wait(self, error: ProviderError, failed: int) -> float | None:
        if error.final or failed > self.most:
            return None
        if error.retry_after_s is not None:
            return error.retry_after_s if error.retry_after_s <= self.longest_wait_s else None
        longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (failed - 1))
        return round(random.uniform(longest / 2, longest), 3)  # noqa: S311

    def _sleep(self, seconds: float) -> None:
        while seconds > 0:
            self.sleep(min(seconds, NAP_S))
            seconds -= NAP_S
            self.output.alive("waiting for the provider")
