"""Runs in Node environments, made by the real npm from a package of the tests' own."""

import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from batches import paths
from batches.provisioning.surroundings import Surroundings
from batches.provisioning.tools import load_tool
from batches.provisioning.tools.base import NeedRefused
from tasks.models import Workspace
from tests.batches.conducting import kept, last_run, repository, run_batch
from tests.factories import make_batch, make_task, make_workspace
from tests.repos import git

SCRIPT = "sh \"tiny > out.txt; node -e 'console.log(require(`tiny`))' >> out.txt\""


def package(folder: Path) -> Path:
    """A tarball as a registry has them."""
    files = {
        "package.json": '{"name": "tiny", "version": "1.0.0", "bin": {"tiny": "bin.js"}}',
        "index.js": "module.exports = 7\n",
        "bin.js": "#!/usr/bin/env node\nconsole.log('bin')\n",
    }
    path = folder / "tiny-1.0.0.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(text), 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    asked = {"dependencies": {"tiny": f"file:{package(tmp_path)}"}}
    locked = {
        "version": "1.0.0",
        "resolved": asked["dependencies"]["tiny"],
        "bin": {"tiny": "bin.js"},
    }
    lock = {
        "name": "app",
        "lockfileVersion": 3,
        "requires": True,
        "packages": {"": {"name": "app", **asked}, "node_modules/tiny": locked},
    }
    files = {
        "package.json": json.dumps({"name": "app", **asked}),
        "package-lock.json": json.dumps(lock),
    }
    return make_workspace(tmp_path, files=files)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
def test_modules_are_there_and_not_in_the_change(workspace: Workspace) -> None:
    """No .gitignore of the repository names them."""
    task = make_task(workspace, "a", SCRIPT, "sh 'ls -A node_modules > list.txt'")
    batch = run_batch(make_batch(workspace))
    run = last_run(task)
    assert batch.status == "COMPLETED", run.message
    assert kept(run, "out.txt").split() == ["bin", "7"]
    files = git(repository(workspace), "show", "--name-only", "--format=", run.capture_commit)
    assert files.split() == ["list.txt", "out.txt"]
    assert not run.tree_kept
    assert not paths.tree_dir(run.id).exists()


@pytest.mark.parametrize("lock", ["pnpm-lock.yaml", "yarn.lock", "package-lock.json"])
@pytest.mark.parametrize(
    "content", [None, b"[]", b"{", b"\xff", b'{"workspaces": ["a"]}', b"[" * 100_000]
)
def test_what_cannot_be_shared_is_refused(lock: str, content: bytes | None) -> None:
    name = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "package-lock.json": "npm"}[lock]
    files = {lock: b"x"} | ({} if content is None else {"package.json": content})
    with pytest.raises(NeedRefused, match=r"package\.json"):
        load_tool(name).need(files.get)


def test_bins_come_before_the_path() -> None:
    found = Surroundings(bins=(Path("/a"), Path("/b")), variables={"X": "1"})
    env = found.applied_to({"PATH": "/usr/bin", "X": "0", "Y": "2"})
    assert env == {"PATH": "/a:/b:/usr/bin", "X": "1", "Y": "2"}
