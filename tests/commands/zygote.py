"""`manage.py` without its start-up time: a process that has imported everything forks for each.

Run as a program it reads one request a line, `[argv, input]` in base 64, and answers each with
`[exit code, output, errors]`.
"""

import base64
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CRASHED = 70


class Zygote:
    """The calling side."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.commands.zygote"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(self, argv: list[bytes], input: bytes) -> tuple[int, str, str]:
        assert self._process.stdin
        assert self._process.stdout
        request = [[_packed(word) for word in argv], _packed(input)]
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        code, out, err = json.loads(self._process.stdout.readline())
        return code, _unpacked(out).decode(), _unpacked(err).decode()

    def end(self) -> None:
        self._process.communicate(timeout=60)


def _packed(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _unpacked(text: str) -> bytes:
    return base64.b64decode(text)


def _answer(request: Any) -> list[Any]:
    argv, given = [_unpacked(word) for word in request[0]], _unpacked(request[1])
    with (
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        stdin.write(given)
        stdin.seek(0)
        child = os.fork()
        if child == 0:
            _become(argv, stdin.fileno(), out.fileno(), err.fileno())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return [code, *(_packed(_all(file)) for file in (out, err))]


def _all(file: Any) -> bytes:
    file.seek(0)
    return bytes(file.read())


def _become(argv: list[bytes], *descriptors: int) -> None:
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    sys.argv = ["manage.py", *map(os.fsdecode, argv)]
    code = CRASHED
    try:
        code = _run()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _run() -> int:
    import traceback

    import manage

    try:
        manage.main()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "codeframe_site.settings"
    import django
    from django.core.management import get_commands, load_command_class

    django.setup()
    for name in ("batch", "drain", "engine", "runbatch", "task", "workspace"):
        load_command_class(get_commands()[name], name)
    answers, requests = os.fdopen(os.dup(1), "w"), os.fdopen(os.dup(0))
    for line in requests:
        answers.write(json.dumps(_answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
