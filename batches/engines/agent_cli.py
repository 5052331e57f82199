"""What the command lines of coding agents have in common: where they are, who they are logged in
as, and what they may do."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from batches.engines.base import (
    Engine,
    EngineOutcome,
    EngineRequest,
    Launch,
    LaunchRefusedError,
    Options,
    Problem,
    variables_of,
)
from batches.engines.environment import (
    build_environment,
    pass_env_problem,
    prepare_folders,
    server_environment,
    server_path,
)
from batches.engines.evidence import Evidence
from batches.engines.locate import resolve_program
from batches.engines.parsing import Parser
from batches.engines.verdict import verdict
from batches.reasons import Reason
from batches.supervisor.record import ExitRecord

BYPASS, EDITS, READ = "bypass", "edits", "read"
PERMISSIONS = (BYPASS, EDITS, READ)
KNOWN_OPTIONS = {"kind", "permission", "pass_env", "program"}
MOST_MODEL = 200


class AgentEngine(Engine):
    """Subclasses say how their program is called and how its output is read.

    `keys`: variables any of which is a log-in; `passed`: others of the provider that go along.
    `logins`: files below a person's home that a log-in on the host leaves, linked into each run's.
    """

    readable = False
    program: ClassVar[str]
    package: ClassVar[str]
    """How to get it."""
    keys: ClassVar[tuple[str, ...]]
    passed: ClassVar[tuple[str, ...]] = ()
    logins: ClassVar[tuple[str, ...]] = ()
    parser_class: ClassVar[type[Parser]]
    stop_signal: ClassVar[str] = "SIGTERM"
    provider: ClassVar[str] = ""

    def check(self, options: Options) -> Problem | None:
        problem = _options_problem(options)
        if problem:
            return Problem(reason=Reason.ENGINE_ERROR, sentence=problem)
        if self.find(options) is None:
            return Problem(reason=Reason.ENGINE_MISSING, sentence=self.missing(options))
        if not self.login():
            return Problem(reason=Reason.AUTH, sentence=self.not_logged_in())
        return None

    def find(self, options: Options) -> str | None:
        """The absolute path of the program; `options["program"]` names another than the usual."""
        return resolve_program(options.get("program") or self.program, server_path())

    def missing(self, options: Options) -> str:
        named = options.get("program")
        where = f"{named} cannot be run" if named else f"{self.program} is not on the server's PATH"
        return f"{where}. To get it: {self.package}"

    def login(self) -> str:
        """Which one will be used: a variable's name or a file's path; empty without any."""
        environment = server_environment()
        for name in self.keys:
            if environment.get(name):
                return name
        found = (path for name in self.logins if (path := Path.home() / name).is_file())
        return str(next(found, ""))

    def not_logged_in(self) -> str:
        ways = [f"set {' or '.join(self.keys[:2])} for the server"]
        if self.logins:
            ways.append(f"log in with {self.program} as the server's user")
        return f"{self.program} is not logged in: {', or '.join(ways)}."

    def prepare(self, request: EngineRequest) -> Launch:
        problem = self.check(request.options)
        if problem:
            raise LaunchRefusedError(reason=problem.reason, sentence=problem.sentence)
        program = self.find(request.options)
        assert program is not None
        tmp = request.run_dir / "tmp"
        prepare_folders(home=request.home, tmp=tmp)
        self._link_login(request.home)
        self.write_config(request)
        return Launch(
            argv=(program, *self.arguments(request)),
            env=self._environment(request, tmp) | self.settings(request),
            stdin_path=request.prompt_file,
            stop_signal=self.stop_signal,
        )

    def parser(
        self, options: Options, *, model: str = "", state: Mapping[str, Any] | None = None
    ) -> Parser:
        return self.parser_class(model=model, state=state)

    def provider_of(self, model: str) -> str:
        return self.provider

    def outcome(
        self,
        exit_record: ExitRecord,
        stdout_tail: bytes,
        stderr_tail: bytes,
        evidence: Evidence,
    ) -> EngineOutcome:
        return verdict(exit_record, evidence, stderr_tail)

    # -- of each engine --------------------------------------------------------------------------

    def arguments(self, request: EngineRequest) -> list[str]:
        raise NotImplementedError

    def settings(self, request: EngineRequest) -> dict[str, str]:
        """Variables of its own."""
        return {}

    def write_config(self, request: EngineRequest) -> None:
        """Files that it reads, below the run's home."""

    # -- inside ----------------------------------------------------------------------------------

    def _environment(self, request: EngineRequest, tmp: Path) -> dict[str, str]:
        extra = request.options.get("pass_env", [])
        names = [*self.keys, *self.passed, *extra]
        return build_environment(
            home=request.home, tmp=tmp, pass_env=names, extra=variables_of(request)
        )

    def _link_login(self, home: Path) -> None:
        """A link, so that a token which is renewed is renewed for the next run too."""
        for name in self.logins:
            source, target = Path.home() / name, home / name
            if not source.is_file():
                continue
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                target.symlink_to(source)


def permission(request: EngineRequest) -> str:
    return str(request.options.get("permission") or BYPASS)


def is_root() -> bool:
    return os.geteuid() == 0


def _options_problem(options: Options) -> str | None:
    unknown = set(options) - KNOWN_OPTIONS
    if unknown:
        return f"{sorted(unknown)[0]!r} is no option of this engine."
    chosen = options.get("permission") or BYPASS
    if chosen not in PERMISSIONS:
        return f"permission is one of {', '.join(PERMISSIONS)}; not {chosen!r}."
    return pass_env_problem(options.get("pass_env", []))
