"""Node environments: node_modules as a lock file says, by npm, pnpm or yarn."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from batches.provisioning.copying import copy_folder, link_entries
from batches.provisioning.programs import Program, find_program
from batches.provisioning.surroundings import Surroundings
from batches.provisioning.tools.base import Argv, Build, Need, NeedRefused, ReadFile

PACKAGE = "package.json"
WORKSPACES = "pnpm-workspace.yaml"
MODULES = "node_modules"
IGNORE_ITSELF = "*\n"


class _Node:
    ecosystem = "node"
    name: ClassVar[str]
    locks: ClassVar[tuple[str, ...]]
    settings: ClassVar[tuple[str, ...]] = (".npmrc",)
    reads = (PACKAGE, WORKSPACES, ".npmrc", ".yarnrc", ".yarnrc.yml")
    install: ClassVar[Argv]

    def need(self, read: ReadFile) -> Need | None:
        lock = next((name for name in self.locks if read(name) is not None), self.locks[0])
        names = (lock, PACKAGE, *self.settings)
        found = {name: content for name in names if (content := read(name)) is not None}
        if PACKAGE not in found:
            raise NeedRefused(f"{lock}: there is no package.json beside it.")
        if _package(found[PACKAGE]).get("workspaces") or read(WORKSPACES) is not None:
            raise NeedRefused(
                "package.json: its workspaces are folders of the tree, which an environment that "
                f"is shared cannot hold; make it a set-up command, for example: {self.name} install"
            )
        return Need(tool=self.name, files=found)

    def programs(self, need: Need, path: str) -> Mapping[str, Program]:
        return {"node": find_program("node", path), self.name: find_program(self.name, path)}

    def commands(self, build: Build) -> Sequence[Argv]:
        return [(str(build.programs[self.name].path), *self.install)]

    def variables(self, build: Build) -> Mapping[str, str]:
        return {
            "npm_config_audit": "false",
            "npm_config_fund": "false",
            "npm_config_update_notifier": "false",
            "CI": "1",
        }

    def problem(self, build: Build) -> str:
        modules = build.source / MODULES
        package = _package(build.need.files[PACKAGE])
        wanted = [*_names(package, "dependencies"), *_names(package, "devDependencies")]
        missing = [name for name in wanted if not (modules / name / PACKAGE).is_file()]
        return f"not installed: {', '.join(missing[:5])}" if missing else ""

    def probe(self, build: Build) -> Sequence[Argv]:
        return [(str(build.programs["node"].path), "--version")]

    def place(self, folder: Path, tree: Path, copy: Path | None, check: Callable[[], None]) -> None:
        """A folder of the tree's own, hidden from git by a file in it, whatever is ignored."""
        source, target = folder / "source" / MODULES, tree / MODULES
        if target.is_symlink() or target.exists() or not source.is_dir():
            return
        if copy is not None:
            copy_folder(source, target, check)
        else:
            link_entries(source, target, within="@")
        (target / ".gitignore").write_text(IGNORE_ITSELF)

    def surroundings(self, folder: Path, tree: Path) -> Surroundings:
        return Surroundings(bins=(tree / MODULES / ".bin",))


class Npm(_Node):
    name = "npm"
    locks = ("package-lock.json", "npm-shrinkwrap.json")
    install = ("ci",)


class Pnpm(_Node):
    name = "pnpm"
    locks = ("pnpm-lock.yaml",)
    install = ("install", "--frozen-lockfile", "--package-import-method=copy")


class Yarn(_Node):
    """Classic yarn, and the later one where it is told to make node_modules."""

    name = "yarn"
    locks = ("yarn.lock",)
    settings = (".npmrc", ".yarnrc", ".yarnrc.yml")
    install = ("install", "--frozen-lockfile", "--non-interactive")

    def commands(self, build: Build) -> Sequence[Argv]:
        yarn = build.programs[self.name]
        if yarn.version.startswith("1."):
            return super().commands(build)
        return [(str(yarn.path), "install", "--immutable")]

    def variables(self, build: Build) -> Mapping[str, str]:
        own = {"YARN_NODE_LINKER": "node-modules", "YARN_ENABLE_TELEMETRY": "0"}
        return {**super().variables(build), **own}


def _package(content: bytes) -> dict[str, Any]:
    try:
        package = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise NeedRefused(f"package.json: it is not JSON ({error}).") from error
    if not isinstance(package, dict):
        raise NeedRefused("package.json: it is not an object.")
    return package


def _names(package: Mapping[str, Any], key: str) -> list[str]:
    section = package.get(key)
    names = section if isinstance(section, dict) else {}
    return [name for name in names if ".." not in name and not name.startswith("/")]
