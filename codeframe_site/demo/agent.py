"""The demo's coding agent: plays one prepared step of the demo project in the current directory.

Run by a bare interpreter with the standard library only. CODEFRAME_PROMPT_FILE names the prompt,
whose first line `demo-step: NAME` says which folder of steps/ to play. CODEFRAME_DEMO_PACE
scales its pauses (1.0 unless set, 0 for none).
"""

import os
import re
import shutil
import sys
import time
from pathlib import Path

STEPS = Path(__file__).resolve().parent / "steps"
PAUSE_S = 0.25

THOUGHTS = {
    "money": (
        "19.99 * 100 is 1998.9999999999998 as a float, and int() cuts it to 1998.",
        "Decimal keeps the digits as written, but takes nan and 1e3 too: check the form first.",
    ),
    "entries": (
        "Three words and a rest: split with maxsplit=3.",
        "date.fromisoformat and to_cents both raise ValueError, so one handler can add the line.",
    ),
    "categories": (
        "A Counter adds up; negative amounts are refunds and must stay in.",
        "Sort by the amount, falling, then by name, so that equal amounts don't swap places.",
    ),
    "months": (
        "The key 2024-03 sorts like the calendar, also over the turn of a year.",
        "Same shape as the totals by category, in a module of its own.",
    ),
    "report": (
        "Three sections of the same form: one table function, fed by a dict.",
        "Columns are as wide as their widest cell; amounts go to the right.",
    ),
    "display": (
        "Format takes care of the commas; the sign has to be set apart first.",
        "to_text already knows about two digits. Build on it.",
    ),
    "limits": (
        "to_cents already refuses what is no amount; only the missing = needs a message.",
        "A limit is exceeded above it, not at it.",
    ),
    "cli": (
        "All the parts are there. Wire them up with argparse and return an exit code.",
        "Errors belong on stderr as one line; the README gets an example that was really run.",
    ),
}
FLAKY_STEP = "months"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    time.sleep(PAUSE_S * float(os.environ.get("CODEFRAME_DEMO_PACE") or 1))


def find_step(prompt: str) -> str | None:
    """The first marker counts: a prompt may go on to tell of other tasks."""
    found = re.search(r"^\W*demo-step:\s*(\w+)", prompt, re.MULTILINE)
    return found.group(1) if found and found.group(1) in THOUGHTS else None


def files_of(step: str) -> list[Path]:
    """Tests first, as a careful agent would write them."""
    folder = STEPS / step
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted((path for path in files if "__pycache__" not in path.parts), reverse=True)


def write(step: str, path: Path) -> None:
    verb = "edited" if path.exists() else "wrote"
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(STEPS / step / path, path)
    say(f"{verb} {path} ({len(path.read_text(encoding='utf-8').splitlines())} lines)")


def play(step: str) -> int:
    say(f"reading the task: step {step}")
    for thought in THOUGHTS[step]:
        say(thought)
    first, *others = files_of(step)
    write(step, first)
    if step == FLAKY_STEP and int(os.environ.get("CODEFRAME_ATTEMPT") or 1) == 1:
        sys.stderr.write("error: the connection to the model was lost in mid-answer\n")
        return 1
    for path in others:
        write(step, path)
    say(f"done: {len(others) + 1} files")
    return 0


def main() -> int:
    path = os.environ.get("CODEFRAME_PROMPT_FILE")
    if not path:
        sys.stderr.write("error: CODEFRAME_PROMPT_FILE is not set\n")
        return 2
    step = find_step(Path(path).read_text(encoding="utf-8"))
    if step is None:
        sys.stderr.write(f"error: no line 'demo-step: NAME' with a known name in {path}\n")
        return 2
    return play(step)


if __name__ == "__main__":
    sys.exit(main())
