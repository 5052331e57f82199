"""The built-in agent as an engine: our own program on a model's programming interface."""

import sys
from collections.abc import Mapping
from pathlib import Path

from batches.engines.agent_cli import AgentEngine
from batches.engines.base import (
    EngineOutcome,
    EngineRequest,
    Launch,
    LaunchRefusedError,
    Options,
    Problem,
    failed,
    variables_of,
)
from batches.engines.builtin.errors import EXIT_CODES
from batches.engines.builtin.parser import BuiltinParser
from batches.engines.builtin.settings import (
    ADDRESSES,
    KEYS,
    OPENAI,
    USUAL,
    Settings,
    SettingsError,
    provider_of,
    settings_of,
)
from batches.engines.environment import build_environment, prepare_folders, server_environment
from batches.engines.evidence import Evidence
from batches.engines.verdict import verdict
from batches.reasons import Reason
from batches.supervisor.record import ExitRecord

PROGRAM = Path(__file__).resolve().with_name("agent.py")
_REASONS = {
    "auth": Reason.AUTH,
    "rate_limited": Reason.RATE_LIMITED,
    "server_error": Reason.SERVER_ERROR,
    "cut": Reason.SERVER_ERROR,
    "malformed": Reason.SERVER_ERROR,
    "stalled": Reason.SERVER_ERROR,
    "unreachable": Reason.SERVER_ERROR,
    "bad_request": Reason.BAD_REQUEST,
    "context": Reason.BAD_REQUEST,
    "turns": Reason.TURNS,
    "tokens": Reason.BUDGET,
    "dollars": Reason.BUDGET,
    "loop": Reason.LOOP,
}
_BY_CODE = {EXIT_CODES[name]: reason for name, reason in _REASONS.items()}


class BuiltinEngine(AgentEngine):
    name = "builtin"
    program = sys.executable
    package = "it comes with codeframe"
    keys = tuple(KEYS.values())
    parser_class = BuiltinParser

    def check(self, options: Options) -> Problem | None:
        return self._problem(options, str(options.get("model") or ""))

    def find(self, options: Options) -> str | None:
        return sys.executable

    def provider_of(self, model: str) -> str:
        return provider_of(model)

    def login(self) -> str:
        """A key, or the address of a server that may need none."""
        environment = server_environment()
        return next(
            (name for name in (*self.keys, *ADDRESSES.values()) if environment.get(name)), ""
        )

    def not_logged_in(self) -> str:
        keys = " or ".join(self.keys)
        return f"set {keys} for the server, or {ADDRESSES[OPENAI]} to a server of your own."

    def prepare(self, request: EngineRequest) -> Launch:
        model = request.model or str(request.options.get("model") or "")
        problem = self._problem(request.options, model) or _no_model(model)
        if problem:
            raise LaunchRefusedError(reason=problem.reason, sentence=problem.sentence)
        chosen = settings_of(request.options, model, server_environment())
        tmp = request.run_dir / "tmp"
        prepare_folders(home=request.home, tmp=tmp)
        return Launch(
            argv=(sys.executable, "-I", str(PROGRAM), *_words(request, chosen)),
            env=build_environment(
                home=request.home,
                tmp=tmp,
                pass_env=[*chosen.pass_env, *filter(None, [chosen.key_name])],
                extra=variables_of(request),
            ),
            note=f"{chosen.model} at {chosen.base_url}",
        )

    def outcome(
        self,
        exit_record: ExitRecord,
        stdout_tail: bytes,
        stderr_tail: bytes,
        evidence: Evidence,
    ) -> EngineOutcome:
        """Its exit code and its last word must agree."""
        code = exit_record.code
        ended_by_itself = exit_record.cause == "exited" and not exit_record.survivors
        if not ended_by_itself or evidence.ended_ok is not False:
            return verdict(exit_record, evidence, stderr_tail)
        if code == EXIT_CODES["question"] and evidence.question:
            return EngineOutcome(kind="blocked", reason=Reason.QUESTION, sentence=evidence.question)
        if code in _BY_CODE:
            reason = _BY_CODE[code]
            return failed(reason, f"{reason.sentence} {evidence.ended_text}".strip())
        return verdict(exit_record, evidence, stderr_tail)

    def _problem(self, options: Options, model: str) -> Problem | None:
        environment = server_environment()
        try:
            chosen = settings_of(options, model, environment)
        except SettingsError as error:
            return Problem(reason=Reason.ENGINE_ERROR, sentence=str(error))
        if chosen.base_url not in USUAL.values() or environment.get(chosen.key_name):
            return None
        if model:
            said = f"set {chosen.key_name} for the server to use {model}."
            return Problem(reason=Reason.AUTH, sentence=said)
        return None if self.login() else Problem(reason=Reason.AUTH, sentence=self.not_logged_in())


def _no_model(model: str) -> Problem | None:
    if model:
        return None
    return Problem(reason=Reason.ENGINE_ERROR, sentence="The built-in agent needs a model's name.")


def _words(request: EngineRequest, chosen: Settings) -> list[str]:
    words = [
        f"--provider={chosen.provider}",
        f"--model={chosen.model}",
        f"--base-url={chosen.base_url}",
        f"--key-name={chosen.key_name}",
        f"--permission={chosen.permission}",
        f"--prompt-file={request.prompt_file}",
        f"--session-folder={request.home / 'builtin'}",
    ]
    if request.session_id:
        words.append(f"--resume={request.session_id}")
    return [*words, *_limits(chosen.limits)]


def _limits(limits: Mapping[str, str]) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in limits.items()]
