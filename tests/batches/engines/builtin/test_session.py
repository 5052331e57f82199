import json
from pathlib import Path

import pytest

from batches.engines.builtin import session
from batches.engines.builtin.conversation import Call, Entry, Reply, Result, Results, User

ENTRIES: list[Entry] = [
    User("do it"),
    Reply("well", (Call("1", "read_file", '{"path": "\ud800é"}'),), ({"type": "text"},)),
    Results((Result("1", "nul \0 and newline \n", ok=False),)),
]


HEAD = '{"kind": "session", "version": 1, "id": "x"}\n'
REPLY = '{"kind": "reply", "text": "x", "calls": [7], "native": []}'


def written(folder: Path) -> session.Session:
    current = session.begin(folder)
    for entry in ENTRIES:
        current.add(entry)
    return current


def test_what_was_added_comes_back_as_it_was(tmp_path: Path) -> None:
    first = written(tmp_path)
    assert session.resume(tmp_path, first.id).entries == ENTRIES


def test_it_can_be_cut_anywhere_and_is_whole_up_to_there(tmp_path: Path) -> None:
    first = written(tmp_path)
    data = first.path.read_bytes()
    head = data.index(b"\n") + 1
    for end in range(head, len(data)):
        first.path.write_bytes(data[:end])
        entries = session.resume(tmp_path, first.id).entries
        whole = data[head:end].count(b"\n")
        assert entries in (ENTRIES[:whole], ENTRIES[: whole + 1])


def test_it_goes_on_behind_a_cut(tmp_path: Path) -> None:
    first = written(tmp_path)
    first.path.write_bytes(first.path.read_bytes()[:-5])
    again = session.resume(tmp_path, first.id)
    again.add(User("more"))
    assert session.resume(tmp_path, first.id).entries == [*ENTRIES[:2], User("more")]


def test_a_shorter_conversation_takes_its_place_whole(tmp_path: Path) -> None:
    first = written(tmp_path)
    first.replace(ENTRIES[:1])
    first.add(User("more"))
    assert session.resume(tmp_path, first.id).entries == [ENTRIES[0], User("more")]
    assert [path.name for path in tmp_path.iterdir()] == ["session.jsonl"]


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    first = written(tmp_path / "new")
    assert first.path.stat().st_mode & 0o077 == 0
    assert first.path.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text",
    ["", "\n", "[]", '{"kind": "session", "version": 2, "id": "x"}', HEAD + "{}", HEAD + REPLY],
)
def test_what_is_no_session_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "session.jsonl").write_text(text)
    with pytest.raises(session.SessionError):
        session.resume(tmp_path, "x")


def test_another_session_is_not_taken_for_the_one_that_is_meant(tmp_path: Path) -> None:
    written(tmp_path)
    with pytest.raises(session.SessionError, match="another one"):
        session.resume(tmp_path, "x")
    with pytest.raises(session.SessionError, match="no session"):
        session.resume(tmp_path / "empty", "x")


def test_each_entry_is_one_line_of_json(tmp_path: Path) -> None:
    lines = written(tmp_path).path.read_text().splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["session", "user", "reply", "results"]
