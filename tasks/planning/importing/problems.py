"""Everything that is wrong with a task file, gathered so that one reading shows it all."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

MOST_PROBLEMS = 1_000
# Each suggestion walks every name, so a file of wrong names must not ask for one per name.
MOST_SUGGESTIONS = 20
MOST_COMPARED = 20_000
COMPARED = 80
ALIKE = 0.5
SHOWN = 60


@dataclass(frozen=True, slots=True)
class Problem:
    line: int
    column: int | None
    message: str

    def __str__(self) -> str:
        place = f"{self.line}" if self.column is None else f"{self.line}:{self.column}"
        return f"{place}: {self.message}"


class ImportErrors(ValueError):
    """A task file was refused, for these reasons in the order of its lines."""

    def __init__(self, name: str, problems: list[Problem]) -> None:
        self.name = name
        self.problems = problems
        super().__init__("\n".join(f"{name}:{problem}" for problem in problems))


@dataclass(slots=True)
class Problems:
    """Collects up to MOST_PROBLEMS; what is over is counted in a last one."""

    name: str
    found: list[Problem] = field(default_factory=list)
    _over: int = 0
    _suggestions: int = 0

    @property
    def full(self) -> bool:
        return len(self.found) >= MOST_PROBLEMS

    def add(self, line: int, message: str, *, column: int | None = None) -> None:
        if self.full:
            self._over += 1
        else:
            self.found.append(Problem(line, column, message))

    def fatal(self, line: int, message: str, *, column: int | None = None) -> ImportErrors:
        """The error to raise when nothing further can be read."""
        self.add(line, message, column=column)
        return self._errors()

    def check(self) -> None:
        if self.found:
            raise self._errors()

    def suggestion(self, word: str, names: Iterable[str]) -> str:
        """The tail of a message about an unknown `word`, or nothing."""
        if self.full or self._suggestions >= MOST_SUGGESTIONS:
            return ""
        self._suggestions += 1
        name = nearest(word, islice(names, MOST_COMPARED))
        return "" if name is None else f"; did you mean {quoted(name)}?"

    def _errors(self) -> ImportErrors:
        problems = sorted(self.found, key=lambda problem: problem.line)
        if self._over:
            last = problems[-1].line
            problems.append(Problem(last, None, f"and {self._over} more problems"))
        return ImportErrors(self.name, problems)


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The name that shares most letter pairs with `word` (Dice), if they are alike at all."""
    wanted = _pairs(word)
    best, best_score = None, ALIKE
    for name in names:
        pairs = _pairs(name)
        score = 2 * len(wanted & pairs) / (len(wanted) + len(pairs))
        if score > best_score:
            best, best_score = name, score
    return best


def _pairs(text: str) -> set[str]:
    padded = f" {text[:COMPARED].casefold()} "
    return {padded[i : i + 2] for i in range(len(padded) - 1)}


def quoted(text: str) -> str:
    """`text` short enough, and safe enough, to stand in a message of one line."""
    cut = text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in cut) + '"'
