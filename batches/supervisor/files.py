"""Small files that are there whole or not at all, readable by their owner only."""

import json
import os
import threading
from pathlib import Path
from typing import Any


def write_private(path: Path, data: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)


def replace_note(path: Path, note: dict[str, Any]) -> None:
    draft = _draft(path)
    try:
        write_private(draft, json.dumps(note).encode())
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)


def create_note(path: Path, note: dict[str, Any]) -> None:
    """Raises FileExistsError: of all that try, one makes it."""
    draft = _draft(path)
    try:
        write_private(draft, json.dumps(note).encode())
        os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _draft(path: Path) -> Path:
    return path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
