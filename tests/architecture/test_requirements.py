"""What is installed is pinned, hashed, explained, and comes from wherever pip is set up to look."""

import re

import pytest

from tests.architecture.source import ROOT

FOLDER = ROOT / "requirements"
KINDS = sorted(path.stem for path in FOLDER.glob("*.in"))
FILES = sorted(path.name for path in FOLDER.iterdir())
PIN = re.compile(r"([A-Za-z0-9._-]+)(?:\[[\w,-]+\])?==[\w.]+$")


def _name(text: str) -> str:
    return re.sub(r"[-_.]+", "-", text).lower()


def _statements(file: str) -> list[str]:
    """Without comments, a line that goes on joined with what follows."""
    text = re.sub(r"(^|\s)#.*", "", (FOLDER / file).read_text(encoding="utf-8"))
    joined = text.replace("\\\n", " ")
    return [" ".join(line.split()) for line in joined.splitlines() if line.strip()]


def _direct(file: str) -> list[str]:
    lines = [line for line in _statements(file) if not line.startswith(("-r ", "-c "))]
    found = [PIN.match(line) for line in lines]
    assert all(found), f"{file}: every line pins one version: {lines}"
    return [_name(match[1]) for match in found if match]


def _locked(file: str) -> dict[str, str]:
    pins = (re.match(r"([A-Za-z0-9._-]+)==(\S+)", line) for line in _statements(file))
    return {_name(match[1]): match[2] for match in pins if match}


@pytest.mark.parametrize("file", FILES)
def test_requirements_hold_no_address(file: str) -> None:
    text = (FOLDER / file).read_text(encoding="utf-8")
    found = re.findall(r"^.*(?:https?:|@|--index|--extra-index|--find-links|file:).*$", text, re.M)
    assert found == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_package_is_pinned_with_its_hashes(kind: str) -> None:
    file = f"{kind}.txt"
    shape = re.compile(r"[A-Za-z0-9._-]+==[\w.]+( ; [^-]+?)?( --hash=sha256:[0-9a-f]{64})+")
    assert [line for line in _statements(file) if not shape.fullmatch(line)] == []
    assert _locked(file)


def test_what_runs_is_what_was_tested() -> None:
    assert _locked("base.txt").items() <= _locked("dev.txt").items()


def test_every_list_is_locked() -> None:
    assert {f"{kind}.in" for kind in KINDS} | {f"{kind}.txt" for kind in KINDS} == set(FILES)


@pytest.mark.parametrize("kind", KINDS)
def test_the_locked_files_hold_what_was_asked_for(kind: str) -> None:
    locked = _locked(f"{kind}.txt")
    asked = [PIN.match(line) for line in _statements(f"{kind}.in")]
    for match in filter(None, asked):
        assert match[0].endswith(f"=={locked[_name(match[1])]}")


def test_every_direct_requirement_is_explained() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    explained = [_name(name) for name in re.findall(r"^\| `([\w.-]+)` \| .+ \|$", page, re.M)]
    assert sorted(explained) == sorted(name for kind in KINDS for name in _direct(f"{kind}.in"))
