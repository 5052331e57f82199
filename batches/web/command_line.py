"""With what a run's agent was started: the command, and the names of its environment."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from batches.shown import mask_text
from batches.supervisor.layout import SPEC
from tasks.text import clip, one_line

LARGEST = 4 * 1024 * 1024
LONGEST_WORD = 2000


@dataclass(frozen=True, kw_only=True)
class Started:
    """Values of variables are never read out of here: only their names leave."""

    command: str
    folder: str
    names: list[str]
    deadline_s: float | None
    silence_s: float | None


def started_with(run_dir: Path) -> Started | None:
    """None for a run whose agent was never started, or of which the note is gone."""
    try:
        with (run_dir / SPEC).open("rb") as file:
            note: dict[str, Any] = json.loads(file.read(LARGEST))
        words = [clip(one_line(mask_text(str(word))), LONGEST_WORD) for word in note["argv"]]
        return Started(
            command=shlex.join(words),
            folder=one_line(str(note["cwd"])),
            names=sorted(map(one_line, note["env"])),
            deadline_s=note.get("deadline_s"),
            silence_s=note.get("silence_s"),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
