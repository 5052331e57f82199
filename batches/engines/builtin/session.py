"""The conversation on disk: a journal of lines, whole whenever the process ends."""

import json
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from batches.engines.builtin.conversation import Call, Entry, Reply, Result, Results, User

VERSION = 1
JOURNAL = "session.jsonl"


class SessionError(Exception):
    """The message says why the session cannot be continued."""


class Session:
    """For one process at a time."""

    def __init__(self, path: Path, session_id: str, entries: list[Entry]) -> None:
        self.path = path
        self.id = session_id
        self.entries = entries
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    def add(self, entry: Entry) -> None:
        # In one write, and first there: a kill in between repeats an entry's cause, never loses it.
        os.write(self._fd, _line(_note(entry)))
        self.entries.append(entry)

    def replace(self, entries: Sequence[Entry]) -> None:
        """By a new file under the old name, so that a kill leaves one or the other."""
        _write(self.path, self.id, entries)
        os.close(self._fd)
        self._fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self.entries = list(entries)


def begin(folder: Path) -> Session:
    """A session that was there before is gone."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    session_id = uuid.uuid4().hex
    _write(folder / JOURNAL, session_id, [])
    return Session(folder / JOURNAL, session_id, [])


def resume(folder: Path, session_id: str) -> Session:
    """Without the line that a kill cut short. Raises SessionError."""
    path = folder / JOURNAL
    try:
        notes = _notes(path.read_bytes())
    except FileNotFoundError:
        raise SessionError(f"There is no session in {folder}.") from None
    head = notes[0] if notes else {}
    if head.get("kind") != "session" or head.get("version") != VERSION:
        raise SessionError(f"{path} is not a session of this version.")
    if head.get("id") != session_id:
        raise SessionError(f"The session in {folder} is another one than {session_id}.")
    try:
        entries = [_entry(note) for note in notes[1:]]
    except (KeyError, TypeError) as error:  # it lies where the agent's shell can reach it
        raise SessionError(f"{path} holds what is no conversation.") from error
    _write(path, session_id, entries)
    return Session(path, session_id, entries)


def _write(path: Path, session_id: str, entries: Sequence[Entry]) -> None:
    part = path.with_suffix(".part")
    head = {"kind": "session", "version": VERSION, "id": session_id}
    with open(part, "wb", opener=_private) as file:
        file.write(_line(head))
        file.writelines(_line(_note(entry)) for entry in entries)
    part.replace(path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _line(note: Mapping[str, Any]) -> bytes:
    return json.dumps(note, separators=(",", ":")).encode() + b"\n"


def _notes(data: bytes) -> list[dict[str, Any]]:
    """Up to the first line that is not whole."""
    notes: list[dict[str, Any]] = []
    for line in data.split(b"\n"):
        try:
            note = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not isinstance(note, dict):
            break
        notes.append(note)
    return notes


def _note(entry: Entry) -> dict[str, Any]:
    return {"kind": type(entry).__name__.lower(), **asdict(entry)}


def _entry(note: Mapping[str, Any]) -> Entry:
    if note["kind"] == "user":
        return User(note["text"])
    if note["kind"] == "results":
        return Results(tuple(Result(**result) for result in note["results"]))
    calls = tuple(Call(**call) for call in note["calls"])
    return Reply(note["text"], calls, tuple(note["native"]))
