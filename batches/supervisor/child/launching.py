"""Forks the agent and turns it into its program. By hand: subprocess takes 20 ms to import."""

from batches.supervisor.native import os, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_NOT_STARTED = 127
_DEFAULT_PATH = "/bin:/usr/bin"
# Python ignores SIGPIPE and SIGXFSZ, we ignore SIGHUP and SIGINT: an exec would hand that on.
_RESET = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGPIPE", "SIGTERM", "SIGCHLD", "SIGXFSZ", "SIGUSR1")


class Agent:
    """A fork that waits for `release` and then becomes the agent's program.

    The read ends are `stdout`, `stderr` and `failure`, which ends empty once the exec succeeded.
    """

    __slots__ = ("_gate", "failure", "pid", "stderr", "stdout")

    def __init__(self, spec: "dict[str, Any]") -> None:
        waits, self._gate = os.pipe()
        self.stdout, out = os.pipe()
        self.stderr, err = os.pipe()
        self.failure, failed = os.pipe()
        # A stop that comes before the fork has put our handlers off must wait, not be swallowed.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        self.pid = os.fork()
        if self.pid == 0:
            _become_agent(spec, gate=self._gate, waits=waits, out=out, err=err, failed=failed)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())  # also what the client's thread had blocked
        for fd in (waits, out, err, failed):
            os.close(fd)
        for fd in (self.stdout, self.stderr, self.failure):
            os.set_blocking(fd, False)

    def release(self) -> None:
        os.write(self._gate, b"1")
        os.close(self._gate)

    def abandon(self) -> None:
        """The fork ends by itself, also when the supervisor is killed at this point."""
        os.close(self._gate)
        os.waitpid(self.pid, 0)


def _become_agent(
    spec: "dict[str, Any]", *, gate: int, waits: int, out: int, err: int, failed: int
) -> "NoReturn":
    try:
        os.setsid()
        os.close(gate)
        for name in _RESET:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if os.read(waits, 1):
            _exec(spec, out, err)
    except BaseException as error:
        os.write(failed, _describe(spec, error).encode("utf-8", "replace"))
    finally:
        os._exit(_NOT_STARTED)


def _exec(spec: "dict[str, Any]", out: int, err: int) -> None:
    """All other descriptors, `failed` too, are close-on-exec, as Python makes them."""
    stdin = os.open(spec["stdin_path"] or "/dev/null", os.O_RDONLY)
    for target, fd in enumerate((stdin, out, err)):
        os.dup2(fd, target)
    os.chdir(spec["cwd"])
    _limit(spec["limits"])
    _exec_on_path(spec["argv"], spec["env"])


def _limit(limits: "dict[str, int]") -> None:
    if not limits:
        return
    import resource

    for name, value in limits.items():
        resource.setrlimit(getattr(resource, name), (value, value))


def _exec_on_path(argv: "list[str]", env: "dict[str, str]") -> None:
    """Raises the most telling OSError: one file that may not be run says more than many misses."""
    if "/" in argv[0]:
        os.execve(argv[0], argv, env)
    refusal: OSError = FileNotFoundError(2, "No such file or directory on PATH", argv[0])
    for folder in env.get("PATH", _DEFAULT_PATH).split(":"):
        try:
            os.execve(f"{folder}/{argv[0]}", argv, env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            refusal = error
    raise refusal


def _describe(spec: "dict[str, Any]", error: BaseException) -> str:
    detail = f"{type(error).__name__}: {error}"
    if isinstance(error, OSError):
        detail = f"{error.strerror}: {error.filename or spec['argv'][0]}"
    return f"cannot start {spec['argv'][0]}: {detail}"
