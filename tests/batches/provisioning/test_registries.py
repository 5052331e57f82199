"""Each tool with its real registry and a tiny package; skipped plainly where there is none."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from batches.engines.environment import server_path
from batches.provisioning.building import Order, environment
from batches.provisioning.steps import Steps
from batches.provisioning.tools import load_tool
from tests.repos import write_files

pytestmark = pytest.mark.network
PROJECT = """\
[project]
name = "app"
version = "1"
requires-python = ">=3.11"
dependencies = ["iniconfig==2.0.0"]
"""
PACKAGE = '{"name": "app", "version": "1.0.0", "dependencies": {"is-number": "7.0.0"}}'
LOCKED = {
    "uv": ({"pyproject.toml": PROJECT}, ("uv", "lock")),
    "pip": (
        {"requirements.txt": "iniconfig==2.0.0\n"},
        ("python3", "-m", "pip", "download", "--no-deps", "iniconfig==2.0.0"),
    ),
    "npm": ({"package.json": PACKAGE}, ("npm", "install", "--package-lock-only")),
    "pnpm": ({"package.json": PACKAGE}, ("pnpm", "install", "--lockfile-only")),
    "yarn": ({"package.json": PACKAGE}, ("yarn", "install", "--ignore-scripts")),
}
USES = {
    "uv": ("python", "-c", "import iniconfig"),
    "pip": ("python", "-c", "import iniconfig"),
}
NODE = ("node", "-e", "require('is-number')")


def locked(tool: str, folder: Path) -> dict[str, bytes]:
    """A lock file as the tool itself writes it, with the registry that it is set up for."""
    files, argv = LOCKED[tool]
    if not shutil.which(argv[0], path=server_path()):
        pytest.skip(f"{tool} is not installed")
    write_files(folder, files)
    try:
        done = subprocess.run(argv, cwd=folder, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{tool} gets no answer from a registry")
    if done.returncode:
        pytest.skip(f"{tool} reaches no registry: {done.stderr.decode()[-200:]}")
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("tool", ["uv", "pip", "npm", "pnpm", "yarn"])
def test_a_tiny_package_is_installed_and_found(tool: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    need = load_tool(tool).need(locked(tool, source).get)
    assert need is not None
    steps = Steps(
        work=tmp_path / "work",
        check=lambda: None,
        should_stop=lambda: None,
        deadline_s=100,
        pass_env=tuple(name for name in os.environ if name.startswith(("PIP_", "UV_", "npm_"))),
        cache=tmp_path / "cache",
    )
    order = Order(home=tmp_path / "home", need=need, steps=steps, disk_floor=0)
    tree = tmp_path / "tree"
    tree.mkdir()
    with environment(order) as ready:
        ready.tool.place(ready.folder, tree, None, lambda: None)
        env = steps.environment(ready.tool.surroundings(ready.folder, tree))
        use = USES.get(tool, NODE)
        found = shutil.which(use[0], path=env["PATH"])
        assert found
        steps.run((found, *use[1:]), cwd=tree, env=env, timeout_s=30)
