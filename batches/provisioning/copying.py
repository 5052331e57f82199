"""Bringing a shared environment to one tree: as a copy of its own, or by links."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

Check = Callable[[], None]
_MOST_SCRIPT_BYTES = 1024 * 1024


def copy_folder(source: Path, target: Path, check: Check) -> None:
    """Links stay links; everything may be written to afterwards. `check` is asked per folder."""
    pending = [(source, target)]
    while pending:
        here, there = pending.pop()
        check()
        there.mkdir(parents=True)
        with os.scandir(here) as entries:
            for entry in entries:
                copied = there / entry.name
                if entry.is_symlink():
                    copied.symlink_to(Path(entry.path).readlink())
                elif entry.is_dir():
                    pending.append((Path(entry.path), copied))
                else:
                    shutil.copy2(entry.path, copied)
                    copied.chmod(stat.S_IMODE(entry.stat().st_mode) | 0o600)


def copy_venv(source: Path, target: Path, check: Check) -> None:
    """Its scripts name the folder that they were made in, and are told the new one."""
    copy_folder(source, target, check)
    old, new = os.fsencode(source), os.fsencode(target)
    for script in [*(target / "bin").iterdir(), target / "pyvenv.cfg"]:
        if script.is_symlink() or not script.is_file():
            continue
        if script.stat().st_size > _MOST_SCRIPT_BYTES:
            continue
        content = script.read_bytes()
        if old in content:
            script.write_bytes(content.replace(old, new))


def link_entries(source: Path, target: Path, *, within: str) -> None:
    """A folder of links to all that `source` holds; folders named with `within` are made anew."""
    target.mkdir()
    for entry in source.iterdir():
        if entry.name.startswith(within) and entry.is_dir():
            link_entries(entry, target / entry.name, within=within)
        else:
            (target / entry.name).symlink_to(entry)
