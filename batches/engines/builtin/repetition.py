"""Notices an agent that goes round in a circle: the same calls with the same results, again."""

import hashlib
import json

from batches.engines.builtin.conversation import Call

WARN_AT = 3
STOP_AT = 5
LONGEST_CYCLE = 4


class Repetition:
    """A call counts as the same only with all its arguments and its result the same.

    So reading one file piece by piece is no circle, and neither is asking for something that
    changes.
    """

    def __init__(self) -> None:
        self._seen: list[bytes] = []

    def add(self, call: Call, result: str) -> int:
        """How many rounds of one circle the calls up to this one make; 1 is no circle."""
        self._seen.append(_signature(call, result))
        del self._seen[: -STOP_AT * LONGEST_CYCLE]
        return max(self._rounds(length) for length in range(1, LONGEST_CYCLE + 1))

    def _rounds(self, length: int) -> int:
        cycle = self._seen[-length:]
        rounds = 0
        for end in range(len(self._seen), length - 1, -length):
            if self._seen[end - length : end] != cycle:
                break
            rounds += 1
        return max(1, rounds)


def _signature(call: Call, result: str) -> bytes:
    try:
        arguments = json.dumps(json.loads(call.arguments), sort_keys=True)
    except ValueError:
        arguments = call.arguments
    said = "\0".join((call.name, arguments, result))
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).digest()
