"""The shapes that a set-up command may have: programs, their verbs, their options, their words.

A list of what is allowed, word by word. What is not on it is refused, however harmless it looks.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, unique


@unique
class Takes(Enum):
    """What the value of an option, or a word without one, may be."""

    NOTHING = "nothing"
    NAME = "a plain name"
    REQUIREMENT = "a package, perhaps with its version"
    PROJECT = "a package or a folder of the tree"
    PATH = "a path inside the tree"
    ADDRESS = "an index or address that the operator allows"
    NPM = "a package of the registry, perhaps with its version"
    APT = "a package of the system, perhaps with its version"
    CONDA = "a package of a channel, perhaps with its version"
    CHANNEL = "a channel by name"


_NAME = r"[A-Za-z0-9][A-Za-z0-9._+-]*"
_EXTRAS = r"(?:\[[A-Za-z0-9._-]+(?:,[A-Za-z0-9._-]+)*\])?"
_CLAUSE = r"\s?(?:===|==|>=|<=|~=|!=|<|>)\s?[0-9][A-Za-z0-9.*+!_-]*"
_NPM_NAME = r"(?:@[a-z0-9-][a-z0-9._-]*/)?[a-z0-9-][a-z0-9._-]*"

WORDS: Mapping[Takes, re.Pattern[str]] = {
    Takes.NAME: re.compile(_NAME),
    Takes.REQUIREMENT: re.compile(rf"{_NAME}{_EXTRAS}(?:{_CLAUSE}(?:,{_CLAUSE})*)?"),
    Takes.PATH: re.compile(
        r"(?:\./)?[A-Za-z0-9_][A-Za-z0-9._+-]*(?:/[A-Za-z0-9_][A-Za-z0-9._+-]*)*"
    ),
    Takes.NPM: re.compile(rf"(?!-){_NPM_NAME}(?:@[~^]?[A-Za-z0-9][A-Za-z0-9.+-]*)?"),
    Takes.APT: re.compile(r"[a-z0-9][a-z0-9.+-]+(?:=[A-Za-z0-9][A-Za-z0-9.+~:-]*)?"),
    Takes.CONDA: re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:[=<>]=?[A-Za-z0-9][A-Za-z0-9.*_-]*)*"),
    Takes.CHANNEL: re.compile(r"defaults|conda-forge|bioconda|pytorch"),
}
FOLDER = re.compile(rf"\.{_EXTRAS}|\./[A-Za-z0-9_][A-Za-z0-9._/+-]*{_EXTRAS}")
"""The tree itself or what is in it, as a project to install."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """`kind` says into which environment it installs; words come after `begins`."""

    kind: str
    begins: tuple[tuple[str, ...], ...]
    words: Takes
    options: Mapping[str, Takes] = field(default_factory=dict)
    needs_word: bool = True
    needs_option: str = ""


def _flags(*names: str) -> dict[str, Takes]:
    return dict.fromkeys(names, Takes.NOTHING)


_PIP_OPTIONS = {
    **_flags("-U", "--upgrade", "-q", "--quiet", "--no-deps", "--pre", "--force-reinstall"),
    **_flags("--no-build-isolation", "--no-cache-dir", "--no-index", "--prefer-binary"),
    **_flags("--require-hashes"),
    "-e": Takes.PROJECT,
    "--editable": Takes.PROJECT,
    "-r": Takes.PATH,
    "--requirement": Takes.PATH,
    "--requirements": Takes.PATH,
    "-c": Takes.PATH,
    "--constraint": Takes.PATH,
    "-f": Takes.PATH,
    "--find-links": Takes.PATH,
    "--only-binary": Takes.NAME,
    "--no-binary": Takes.NAME,
    "-i": Takes.ADDRESS,
    "--index-url": Takes.ADDRESS,
    "--extra-index-url": Takes.ADDRESS,
}
_NODE_FLAGS = {
    **_flags("-D", "--save-dev", "-S", "--save", "--no-save", "--dev", "--ignore-scripts"),
    **_flags("--no-audit", "--no-fund", "--legacy-peer-deps", "--prefer-offline", "--offline"),
    **_flags("--frozen-lockfile", "--immutable"),
}
_NODE_OPTIONS = {**_NODE_FLAGS, "--registry": Takes.ADDRESS}
_UV_SYNC = {
    **_flags("--frozen", "--locked", "--all-extras", "--all-groups", "--no-dev", "-q", "--quiet"),
    "--extra": Takes.NAME,
    "--group": Takes.NAME,
}
_YES = _flags("-y", "--yes", "-q", "--quiet")

SHAPES: tuple[Shape, ...] = (
    Shape(
        kind="pip",
        begins=(
            ("pip", "install"),
            ("pip3", "install"),
            ("python", "-m", "pip", "install"),
            ("python3", "-m", "pip", "install"),
        ),
        words=Takes.PROJECT,
        options=_PIP_OPTIONS,
    ),
    Shape(
        kind="pip",
        begins=(("pip", "uninstall"), ("pip3", "uninstall")),
        words=Takes.REQUIREMENT,
        options=_flags("-y", "--yes"),
        needs_option="-y",
    ),
    Shape(kind="uv", begins=(("uv", "pip", "install"),), words=Takes.PROJECT, options=_PIP_OPTIONS),
    Shape(
        kind="uv",
        begins=(("uv", "sync"),),
        words=Takes.NOTHING,
        options=_UV_SYNC,
        needs_word=False,
    ),
    Shape(
        kind="npm",
        begins=(("npm", "install"), ("npm", "i"), ("npm", "ci")),
        words=Takes.NPM,
        options=_NODE_OPTIONS,
        needs_word=False,
    ),
    Shape(
        kind="pnpm",
        begins=(("pnpm", "install"), ("pnpm", "add")),
        words=Takes.NPM,
        options=_NODE_OPTIONS,
        needs_word=False,
    ),
    Shape(
        kind="yarn",
        begins=(("yarn", "install"), ("yarn", "add")),
        words=Takes.NPM,
        options=_NODE_OPTIONS,
        needs_word=False,
    ),
    Shape(
        kind="conda",
        begins=(("conda", "install"), ("mamba", "install")),
        words=Takes.CONDA,
        options={**_YES, "-c": Takes.CHANNEL, "--channel": Takes.CHANNEL},
    ),
    Shape(
        kind="apt",
        begins=(("apt", "install"), ("apt-get", "install")),
        words=Takes.APT,
        options={**_YES, **_flags("--no-install-recommends")},
    ),
    Shape(
        kind="apt",
        begins=(("apt", "update"), ("apt-get", "update")),
        words=Takes.NOTHING,
        options=_YES,
        needs_word=False,
    ),
)
