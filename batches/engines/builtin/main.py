"""The process: options, key, signals, the last line and the exit code."""

import signal
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from batches.engines.builtin import arguments, session
from batches.engines.builtin.arguments import Arguments
from batches.engines.builtin.budget import Budget
from batches.engines.builtin.errors import EXIT_CODES, Ending, ProviderError, Stopped
from batches.engines.builtin.instructions import first_message
from batches.engines.builtin.key import take_key
from batches.engines.builtin.loop import Loop
from batches.engines.builtin.output import Output
from batches.engines.builtin.providers import load
from batches.engines.builtin.providers.endpoint import Endpoint
from batches.engines.builtin.retries import Retries
from batches.engines.builtin.tools.jail import Jail
from batches.engines.builtin.tools.schemas import allowed
from batches.engines.builtin.tools.shell import Shell
from batches.engines.builtin.tools.toolbox import Toolbox

STOPPING = (signal.SIGTERM, signal.SIGINT)


def main(words: Sequence[str]) -> int:
    """The exit code, one of EXIT_CODES."""
    given = arguments.parse(words)
    key, env = take_key(given.key_name)
    output = Output([key] if key else [])
    budget = _budget(given)
    try:
        for number in STOPPING:
            signal.signal(number, _stop)
        reason, text = _run(given, key, env, output, budget)
    except Stopped:
        reason, text = "stopped", "Told to stop."
    _ignore_signals()
    output.say(
        "end",
        reason=reason,
        ok=reason == "done",
        text=text,
        turns=budget.turns,
        tokens=budget.total,
    )
    return EXIT_CODES[reason]


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    """Once: a second signal must not break off what the first one tidies up."""
    _ignore_signals()
    raise Stopped


def _ignore_signals() -> None:
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


def _run(
    given: Arguments, key: str, env: dict[str, str], output: Output, budget: Budget
) -> tuple[str, str]:
    try:
        loop = _loop(given, key, env, output, budget)
        return "done", loop.run()
    except Ending as ending:
        return ending.reason, ending.text
    except ProviderError as error:
        _tell(error, output)
        return error.kind, error.text
    except OSError as error:
        output.say("error", kind="internal", text=str(error))
        return "internal", str(error)
    except Exception as error:  # the outermost frame: the last line says what happened
        traceback.print_exc()
        output.say("error", kind="internal", text=repr(error))
        return "internal", repr(error)


def _tell(error: ProviderError, output: Output) -> None:
    wait = error.retry_after_s
    if error.kind == "rate_limited":
        resets = None if wait is None else round(time.time() + wait, 3)
        output.say("limit", kind="rate", text=error.text, retry_after_s=wait, resets_at=resets)
    output.say("error", kind=error.kind, status=error.status, text=error.text, retry_after_s=wait)


def _loop(given: Arguments, key: str, env: dict[str, str], output: Output, budget: Budget) -> Loop:
    tree = Path.cwd()
    prompt = given.prompt_file.read_text(encoding="utf-8", errors="replace")
    known = _known(given, output) if given.resume else None
    current = known or session.begin(given.session_folder)
    output.say("session", id=current.id, model=given.model, resumed=known is not None)
    shell = Shell(tree, env, waiting=lambda: output.alive("a command is running"))
    endpoint = Endpoint(
        base_url=given.base_url, model=given.model, key=key, silence_s=given.silence_s
    )
    loop = Loop(
        session=current,
        provider=load(given.provider, endpoint),
        toolbox=Toolbox(Jail(tree), shell, given.test_command),
        tools=allowed(given.permission),
        budget=budget,
        output=output,
        retries=Retries(output, given.retries, given.longest_wait_s),
        context_tokens=given.context_tokens,
        output_tokens=given.output_tokens,
    )
    loop.start(prompt if known else first_message(tree, prompt))
    return loop


def _known(given: Arguments, output: Output) -> session.Session | None:
    """Without it the work begins anew: the prompt holds all that a person said."""
    try:
        return session.resume(given.session_folder, given.resume)
    except session.SessionError as error:
        output.say("note", text=str(error))
        return None


def _budget(given: Arguments) -> Budget:
    return Budget(
        max_turns=given.max_turns,
        max_tokens=given.max_tokens,
        max_dollars=given.max_dollars,
        price=given.price,
    )
