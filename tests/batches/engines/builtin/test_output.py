import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from batches.engines.builtin.output import Output
from batches.engines.builtin.tools.shell import Shell

SECRET = 'sk-with-"quote"-and-more'


class Written:
    """An output whose lines can be read back, and whose clock is ours."""

    def __init__(self, *secrets: str) -> None:
        self.now = 0.0
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        self.output = Output(secrets, fd=self._writer, clock=lambda: self.now)

    def lines(self) -> list[dict[str, object]]:
        try:
            return [json.loads(line) for line in os.read(self._reader, 1 << 20).splitlines()]
        except BlockingIOError:
            return []

    def close(self) -> None:
        os.close(self._reader)
        os.close(self._writer)


@pytest.fixture
def written() -> Iterator[Written]:
    found = Written(SECRET, "short")
    yield found
    found.close()


def test_a_secret_is_in_no_line_however_it_is_quoted(written: Written) -> None:
    written.output.say("message", text=f"it is {SECRET}!", data={"deep": [SECRET]})
    (line,) = written.lines()
    assert line == {
        "type": "message",
        "text": "it is [redacted]!",
        "data": {"deep": ["[redacted]"]},
    }


def test_short_words_are_no_secrets(written: Written) -> None:
    written.output.say("message", text="in short")
    assert written.lines()[0]["text"] == "in short"


def test_any_text_fits_in_a_line(written: Written) -> None:
    text = "nul \0, line\nend, half \ud800, é"
    written.output.say("message", text=text)
    assert written.lines()[0]["text"] == text


def test_streamed_text_is_told_twice_a_second_at_most(written: Written) -> None:
    for tenth in range(20):
        written.now = tenth / 10
        written.output.delta("x")
    lines = written.lines()
    assert len(lines) == 3
    assert {line["type"] for line in lines} == {"delta"}


def test_long_work_gives_a_sign_of_life_now_and_then(written: Written, tmp_path: Path) -> None:
    """Else the supervisor would take it for a stall."""

    def waiting() -> None:
        written.now += 4
        written.output.alive("at work")

    Shell(tmp_path, {"PATH": os.environ["PATH"]}, waiting=waiting).run("sleep 2.2", 10, 100)
    lines = written.lines()
    assert lines
    assert {line["type"] for line in lines} == {"progress"}
    assert len(lines) == int(written.now // 12)
