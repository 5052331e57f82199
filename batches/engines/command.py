"""The command engine: any program an operator names, run with a prompt and judged by its exit."""

import os
from collections.abc import Mapping
from typing import Any

from batches.engines.base import (
    Engine,
    EngineOutcome,
    EngineRequest,
    Launch,
    LaunchRefusedError,
    Options,
    Problem,
    failed,
    unfinished,
    variables_of,
)
from batches.engines.ending import how_it_ended, survivors, with_last_line
from batches.engines.environment import (
    build_environment,
    pass_env_problem,
    prepare_folders,
    server_path,
)
from batches.engines.evidence import Evidence
from batches.engines.limit_line import LimitLine, limit_in
from batches.engines.locate import resolve_program
from batches.engines.parsing import Parser
from batches.engines.template import (
    IN_TREE,
    MAX_ARGUMENT_BYTES,
    CommandError,
    check_argv,
    fill,
    uses,
)
from batches.engines.usage_lines import UsageFormatError, UsageLines, check_format
from batches.reasons import Reason
from batches.supervisor.record import ExitRecord

PROMPT_VIA = ("file", "argument", "stdin")


def check_options(options: Options) -> None:
    """Raises CommandError."""
    check_argv(options.get("argv"))
    if options.get("prompt_via", "file") not in PROMPT_VIA:
        known = ", ".join(PROMPT_VIA)
        raise CommandError(f"prompt_via is one of {known}; not {options['prompt_via']!r}.")
    problem = pass_env_problem(options.get("pass_env", []))
    if problem:
        raise CommandError(problem)
    try:
        check_format(options.get("usage") or {})
    except UsageFormatError as error:
        raise CommandError(f"usage: {error}") from error


class CommandEngine(Engine):
    name = "command"

    def check(self, options: Options) -> Problem | None:
        try:
            check_options(options)
        except CommandError as error:
            return Problem(reason=Reason.ENGINE_ERROR, sentence=str(error))
        program = options["argv"][0]
        if program.startswith(IN_TREE) or resolve_program(fill(program, {}), server_path()):
            return None
        return Problem(reason=Reason.ENGINE_MISSING, sentence=_missing(program))

    def prepare(self, request: EngineRequest) -> Launch:
        try:
            check_options(request.options)
            argv = _argv(request)
        except CommandError as error:
            raise LaunchRefusedError(reason=Reason.ENGINE_ERROR, sentence=str(error)) from error
        env = _environment(request)
        program = resolve_program(argv[0], env["PATH"])
        if program is None:
            raise LaunchRefusedError(reason=Reason.ENGINE_MISSING, sentence=_missing(argv[0]))
        via = _prompt_via(request)
        return Launch(
            argv=(program, *argv[1:]),
            env=env,
            stdin_path=request.prompt_file if via == "stdin" else None,
            note=f"{program} gets its prompt by {via}",
        )

    def parser(
        self, options: Options, *, model: str = "", state: Mapping[str, Any] | None = None
    ) -> Parser | None:
        form = options.get("usage")
        return UsageLines(form, model=model, state=state) if form else None

    def outcome(
        self,
        exit_record: ExitRecord,
        stdout_tail: bytes,
        stderr_tail: bytes,
        evidence: Evidence,
    ) -> EngineOutcome:
        ending = unfinished(exit_record)
        if ending:
            return ending
        if exit_record.survivors:
            return failed(Reason.ENGINE_ERROR, survivors(exit_record))
        if exit_record.code == 0:
            return EngineOutcome(kind="completed")
        if limit := limit_in(stderr_tail, stdout_tail):
            return _limited(limit, exit_record)
        how = with_last_line(how_it_ended(exit_record), stderr_tail, stdout_tail)
        return failed(Reason.ENGINE_ERROR, how)


def _limited(limit: LimitLine, exit_record: ExitRecord) -> EngineOutcome:
    reason = Reason.RATE_LIMITED
    after = limit.retry_after_s
    return EngineOutcome(
        kind="failed",
        reason=reason,
        sentence=f"{reason.sentence} {limit.message}".strip(),
        retry_at=None if after is None else exit_record.ended_at + after,
    )


def _prompt_via(request: EngineRequest) -> str:
    return str(request.options.get("prompt_via", "file"))


def _argv(request: EngineRequest) -> list[str]:
    template: list[str] = list(request.options["argv"])
    appended = _prompt_via(request) == "argument"
    values = {
        "prompt_file": str(request.prompt_file),
        "workspace": str(request.tree),
        "task_id": request.task_id,
        "run_id": request.run_id,
        "batch_id": request.batch_id,
        "prompt": "",
    }
    if appended or uses(template, "prompt"):
        values["prompt"] = _prompt(request)
    argv = [fill(word, values) for word in template]
    if appended:
        argv.append(values["prompt"])
    _check_lengths(argv)
    return argv


def _prompt(request: EngineRequest) -> str:
    prompt = request.prompt_file.read_bytes()
    if b"\0" in prompt:
        raise CommandError(
            "The prompt has a NUL byte, which no argument can hold; use prompt_via stdin or file."
        )
    return os.fsdecode(prompt)


def _check_lengths(argv: list[str]) -> None:
    longest = max(len(os.fsencode(word)) for word in argv)
    if longest > MAX_ARGUMENT_BYTES:
        raise CommandError(
            f"With the prompt in it an argument has {longest:,} bytes, and the system takes "
            f"{MAX_ARGUMENT_BYTES:,}; use prompt_via stdin or file."
        )


def _environment(request: EngineRequest) -> dict[str, str]:
    tmp = request.run_dir / "tmp"
    prepare_folders(home=request.home, tmp=tmp)
    return build_environment(
        home=request.home,
        tmp=tmp,
        pass_env=request.options.get("pass_env", []),
        extra=variables_of(request),
    )


def _missing(program: str) -> str:
    where = "is not an executable file" if "/" in program else "is not on the server's PATH"
    return f"{program} {where}."
