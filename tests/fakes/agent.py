r"""A scripted agent: does what its directives say, one per line, top to bottom.

Directives come from the arguments (each argument is one line), then from the prompt: the lines
between a line `agent:` and the next blank line (first such block only; indent and `>` marks are
dropped). The prompt is an argument of several lines if there is one, else the file that
CODEFRAME_PROMPT_FILE names. No directive at all: says so, exits 0. A bad directive: exits 64
before anything is done. Lines are split as a shell splits words; then $NAME is replaced from the
environment and \n, \t in quoted text become what they say. Relative paths start at the current
directory; missing parents are made. Every line of output is flushed.

    write PATH TEXT             the file holds TEXT and a newline
    append PATH TEXT            adds TEXT and a newline in one write
    delete PATH                 a file, a link or a whole folder
    touch PATH                  an empty file
    commit MESSAGE              git add --all; git commit
    sh COMMAND                  sh -c COMMAND; exits with its code unless that is 0
    print TEXT                  a line on stdout
    stderr TEXT                 a line on stderr
    spam N BYTES                N numbered lines of BYTES bytes, newline not counted
    tick N SECONDS              N lines "tick 1", "tick 2", ..., each after SECONDS
    line BYTES                  one line of that many x
    raw HEX                     these bytes on stdout, no newline
    sleep SECONDS
    wait-file PATH [SECONDS]    until it exists; exits 75 after SECONDS (60)
    spawn PROGRAM [WORD ...]    in the background, double-forked, in a session of its own, holding
                                our stdout; prints "spawned PID"; `spawn sleep` sleeps 300 s
    fork-late-write PATH SECONDS  like spawn, writes PATH after SECONDS and is then gone
    trap-term                   SIGTERM and SIGINT print "caught NUMBER" and change nothing else
    exit CODE
    fail-until ATTEMPT          exits 1 while CODEFRAME_ATTEMPT (else 1) is less
    crash                       SIGKILL to itself
    count PATH                  appends "RUN_ID ATTEMPT PID" ("-" if unknown), to count starts
    read-stdin [PATH]           reads it to its end, prints "stdin N bytes", keeps it in PATH
    env PATH                    the environment as JSON, whole or not there at all
"""

import os
import shlex
import sys
import time
from collections.abc import Callable

BAD_DIRECTIVE = 64
GAVE_UP_WAITING = 75
POLL_S = 0.02
LATE_TEXT = b"late\n"


def attempt() -> int:
    return int(os.environ.get("CODEFRAME_ATTEMPT") or 1)


def emit(data: bytes, fd: int = 1) -> None:
    while data:
        data = data[os.write(fd, data) :]


def failure(code: int, why: str) -> SystemExit:
    emit(f"agent: {why}\n".encode(), 2)
    return SystemExit(code)


def text(words: tuple[str, ...]) -> str:
    return " ".join(words).replace("\\n", "\n").replace("\\t", "\t")


def as_line(words: tuple[str, ...]) -> bytes:
    # surrogateescape: arguments and variables that are not UTF-8 come out as they went in
    return (text(words) + "\n").encode("utf-8", "surrogateescape")


def store(path: str, data: bytes, flags: int) -> None:
    if folder := os.path.dirname(path):
        os.makedirs(folder, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o666)
    try:
        emit(data, fd)
    finally:
        os.close(fd)


def write(path: str, *words: str) -> None:
    store(path, as_line(words), os.O_TRUNC)


def append(path: str, *words: str) -> None:
    store(path, as_line(words), os.O_APPEND)


def touch(path: str) -> None:
    store(path, b"", os.O_APPEND)


def delete(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil

        shutil.rmtree(path)
    else:
        os.unlink(path)


def run(*argv: str) -> None:
    import subprocess

    if code := subprocess.run(argv, check=False).returncode:
        raise failure(code if code > 0 else 128 - code, f"{argv[0]} exited with {code}")


def commit(*words: str) -> None:
    who = ("-c", "user.name=Scripted Agent", "-c", "user.email=agent@example.invalid")
    run("git", "add", "--all")
    run("git", *who, "commit", "--quiet", "--allow-empty", "-m", text(words))


def sh(*words: str) -> None:
    run("sh", "-c", " ".join(words))


def print_(*words: str) -> None:
    emit(as_line(words))


def stderr(*words: str) -> None:
    emit(as_line(words), 2)


def spam(lines: str, size: str) -> None:
    width, total, at_once = int(size), int(lines), 1000
    for start in range(0, total, at_once):
        numbers = range(start, min(start + at_once, total))
        emit(b"".join(f"{n} ".ljust(width, "x")[:width].encode() + b"\n" for n in numbers))


def tick(lines: str, seconds: str) -> None:
    for number in range(1, int(lines) + 1):
        time.sleep(float(seconds))
        emit(f"tick {number}\n".encode())


def line(size: str) -> None:
    emit(b"x" * int(size) + b"\n")


def raw(*digits: str) -> None:
    emit(bytes.fromhex("".join(digits)))


def sleep(seconds: str) -> None:
    time.sleep(float(seconds))


def wait_file(path: str, seconds: str = "60") -> None:
    deadline = time.monotonic() + float(seconds)
    while not os.path.exists(path):
        if time.monotonic() > deadline:
            raise failure(GAVE_UP_WAITING, f"{path} did not appear within {seconds} s")
        time.sleep(POLL_S)


def in_background(work: Callable[[], None]) -> None:
    """Runs work in a grandchild that init (or a subreaper) adopts; prints its pid."""
    reader, writer = os.pipe()
    if child := os.fork():
        os.close(writer)
        os.waitpid(child, 0)
        emit(b"spawned " + os.read(reader, 32) + b"\n")
        os.close(reader)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    os.write(writer, str(os.getpid()).encode())
    os.close(writer)
    os.close(reader)
    try:
        work()
    except OSError as problem:
        emit(f"agent: in the background: {problem}\n".encode(), 2)
        os._exit(127)
    os._exit(0)


def spawn(*argv: str) -> None:
    argv = ("sleep", "300") if argv == ("sleep",) else argv
    in_background(lambda: os.execvp(argv[0], argv))


def fork_late_write(path: str, seconds: str) -> None:
    def work() -> None:
        time.sleep(float(seconds))
        store(path, LATE_TEXT, os.O_TRUNC)

    in_background(work)


def trap_term() -> None:
    import signal

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda caught, _frame: emit(f"caught {caught}\n".encode()))


def exit_(code: str) -> None:
    sys.exit(int(code))


def fail_until(first_good: str) -> None:
    if attempt() < int(first_good):
        raise failure(1, f"attempt {attempt()} fails, attempt {first_good} will not")


def crash() -> None:
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


def count(path: str) -> None:
    run_id = os.environ.get("CODEFRAME_RUN_ID") or "-"
    number = os.environ.get("CODEFRAME_ATTEMPT") or "-"
    store(path, f"{run_id} {number} {os.getpid()}\n".encode(), os.O_APPEND)


def read_stdin(path: str = "") -> None:
    data = sys.stdin.buffer.read()
    if path:
        store(path, data, os.O_TRUNC)
    emit(f"stdin {len(data)} bytes\n".encode())


def env(path: str) -> None:
    import json

    part = f"{path}.{os.getpid()}"
    store(part, json.dumps(dict(os.environ)).encode(), os.O_TRUNC)
    os.replace(part, path)


ANY = 10_000
# name: (what it does, fewest words, most words)
DIRECTIVES: dict[str, tuple[Callable[..., None], int, int]] = {
    "write": (write, 1, ANY),
    "append": (append, 1, ANY),
    "delete": (delete, 1, 1),
    "touch": (touch, 1, 1),
    "commit": (commit, 1, ANY),
    "sh": (sh, 1, ANY),
    "print": (print_, 0, ANY),
    "stderr": (stderr, 0, ANY),
    "spam": (spam, 2, 2),
    "tick": (tick, 2, 2),
    "line": (line, 1, 1),
    "raw": (raw, 1, ANY),
    "sleep": (sleep, 1, 1),
    "wait-file": (wait_file, 1, 2),
    "spawn": (spawn, 1, ANY),
    "fork-late-write": (fork_late_write, 2, 2),
    "trap-term": (trap_term, 0, 0),
    "exit": (exit_, 1, 1),
    "fail-until": (fail_until, 1, 1),
    "crash": (crash, 0, 0),
    "count": (count, 1, 1),
    "read-stdin": (read_stdin, 0, 1),
    "env": (env, 1, 1),
}


def directives_in(prompt: str) -> list[str]:
    lines = [line.strip(" \t\r>") for line in prompt.split("\n")]
    if "agent:" not in lines:
        return []
    block = lines[lines.index("agent:") + 1 :]
    return block[: block.index("")] if "" in block else block


def gather(arguments: list[str]) -> list[str]:
    own = [argument for argument in arguments if "\n" not in argument]
    prompts = [argument for argument in arguments if "\n" in argument]
    path = os.environ.get("CODEFRAME_PROMPT_FILE")
    if path and not prompts:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            prompts = [file.read()]
    return own + [found for prompt in prompts for found in directives_in(prompt)]


def parse(directive: str) -> tuple[Callable[..., None], list[str]]:
    try:
        name, *words = shlex.split(directive)
        work, fewest, most = DIRECTIVES[name]
    except (ValueError, KeyError) as problem:
        raise failure(BAD_DIRECTIVE, f"bad directive {directive!r}: {problem!r}") from None
    if not fewest <= len(words) <= most:
        raise failure(
            BAD_DIRECTIVE, f"bad directive {directive!r}: {len(words)} words after {name}"
        )
    return work, [os.path.expandvars(word) for word in words]


def main() -> None:
    steps = [parse(directive) for directive in gather(sys.argv[1:])]
    if not steps:
        emit(b"agent: no directives, nothing to do\n")
    for work, words in steps:
        work(*words)


if __name__ == "__main__":
    main()
