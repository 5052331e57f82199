"""What the model is told before the task."""

import os
from pathlib import Path

MOST_NAMES = 50

SYSTEM = """\
You are a software engineer who works alone on a git working tree until the task is done.
Use the tools to look at the code, change it, and test it. Nobody watches or answers meanwhile.

- Look before you change: read the files that matter, and AGENTS.md or CONTRIBUTING.md if present.
- Change only what the task needs, in the style of the code around it.
- Run the tests or the program to see that your change works, and mend what you broke.
- Do not commit; your changed files are collected when you end.
- When the task is done, answer with a short summary and no tool call. That ends your work.
- If you cannot go on without a decision that is a person's, call ask.
"""

CUT_SHORT = "Your answer was cut off by its length limit. Go on where it ended, in smaller steps."
EMPTY = "Your answer was empty. Go on with the task, or say in a few words that it is done."
CIRCLE = (
    "\n\n[You made the same calls {rounds} times with the same results. Another time changes "
    "nothing: try something else, or ask.]"
)
NEVER_RAN = "This may not have run to its end: the work was interrupted."
ASKED = "The question was passed on to a person, whose answer follows."
NOT_YET = "This did not run, for a question came first."


def first_message(tree: Path, prompt: str) -> str:
    names = _top(tree)
    listing = "\n".join(names) if names else "(it is empty)"
    return f"{prompt.strip()}\n\nAt the top of the working tree:\n{listing}"


def _top(tree: Path) -> list[str]:
    with os.scandir(tree) as scan:
        entries = sorted((e for e in scan if e.name != ".git"), key=lambda entry: entry.name)
    shown = [f"{e.name}/" if e.is_dir() else e.name for e in entries[:MOST_NAMES]]
    left_out = len(entries) - MOST_NAMES
    names = [name.encode("utf-8", "replace").decode() for name in shown]
    return names + ([f"… and {left_out} more"] if left_out > 0 else [])
