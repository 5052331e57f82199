"""What an environment adds to the environment variables of agents, gates and set-up commands."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """`bins` go before the PATH, in their order."""

    bins: tuple[Path, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    def joined_with(self, other: "Surroundings") -> "Surroundings":
        return Surroundings(
            bins=(*self.bins, *other.bins), variables={**self.variables, **other.variables}
        )

    def path(self, rest: str) -> str:
        return os.pathsep.join((*map(os.fspath, self.bins), rest))

    def applied_to(self, env: Mapping[str, str]) -> dict[str, str]:
        return {**env, **self.variables, "PATH": self.path(env["PATH"])}


NOTHING = Surroundings()
