"""Real git repositories for tests, independent of the developer's own git configuration."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": os.devnull,
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_TERMINAL_PROMPT": "0",
}
Content = bytes | str


def git_bytes(path: Path, *args: str | bytes, input: bytes | None = None) -> bytes:
    """The output of git run in `path`; a failure shows what git said."""
    done = subprocess.run(
        ["git", *args], cwd=path, env=ENVIRONMENT, input=input, capture_output=True, timeout=60
    )
    if done.returncode:
        raise AssertionError(f"git {args} exited {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def git(path: Path, *args: str | bytes, input: bytes | None = None) -> str:
    return git_bytes(path, *args, input=input).decode(errors="surrogateescape").strip()


def write_files(path: Path, files: Mapping[str, Content]) -> None:
    """Names may hold any bytes, as surrogate escapes; missing folders are made."""
    for name, content in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)


def commit(path: Path, files: Mapping[str, Content], message: str = "change") -> str:
    """Write the files, commit everything in the tree, return the commit."""
    write_files(path, files)
    git(path, "add", "--all", "--force")
    git(path, "commit", "--quiet", "--allow-empty", "--no-verify", "--message", message)
    return git(path, "rev-parse", "HEAD")


def make_repository(
    path: Path,
    files: Mapping[str, Content] | None = None,
    *,
    branch: str = "main",
    object_format: str = "sha1",
) -> Path:
    """A repository with one commit of `files`; without any commit when there are no files."""
    path.mkdir(parents=True, exist_ok=True)
    git(path, "init", "--quiet", f"--initial-branch={branch}", f"--object-format={object_format}")
    if files:
        commit(path, files, "first")
    return path
