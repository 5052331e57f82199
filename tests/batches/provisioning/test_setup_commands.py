"""Property 27: set-up commands have an allowed shape, or are refused before anything is started."""

import json
from pathlib import Path

import pytest

from batches.provisioning.requirement_files import (
    RequirementsRefused,
    refuse_foreign,
    with_included,
)
from batches.provisioning.setup_command import Policy, SetupRefused, parse_all, parse_setup
from batches.provisioning.sources import is_allowed

INJECTED = [
    json.loads(line) for line in Path(__file__).with_name("injected.jsonl").read_text().splitlines()
]
STRICT = Policy()
OPEN = Policy(addresses=("https://packages.example/simple", "https://git.example/team"))


def test_the_corpus_has_two_hundred_commands_and_no_double() -> None:
    assert len(set(INJECTED)) == len(INJECTED) >= 200


@pytest.mark.parametrize("text", INJECTED)
def test_an_injected_command_is_refused(text: str) -> None:
    for policy in (STRICT, OPEN):
        with pytest.raises(SetupRefused):
            parse_setup(text, policy)


@pytest.mark.parametrize("text", [None, 7, ["pip", "install", "x"], {"a": 1}, b"pip install x"])
def test_what_is_no_text_is_refused(text: object) -> None:
    with pytest.raises(SetupRefused):
        parse_setup(text, STRICT)


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("pip install flask", ["flask"]),
        ("pip3 install -U 'flask>=2,<4' requests[socks]==2.32.0", None),
        ("python -m pip install pytest~=8.0", ["pytest~=8.0"]),
        ("pip install pkg>=4.58", ["pkg>=4.58"]),
        ("pip install -e .", ["-e", "."]),
        ("pip install -e .[test,dev]", ["-e", ".[test,dev]"]),
        ("pip install ./libs/core", ["./libs/core"]),
        ("pip install --no-index --find-links wheels ./wheels/a-1.0-py3-none-any.whl", None),
        ("pip install -r requirements/dev.txt -c constraints.txt", None),
        ("pip install --requirement=requirements.txt", ["--requirement=requirements.txt"]),
        ("pip uninstall -y flask", ["-y", "flask"]),
        ("uv pip install flask", ["flask"]),
        ("uv sync --frozen --extra test", ["--frozen", "--extra", "test"]),
        ("npm ci", []),
        ("npm install --no-save @types/node@20 lodash@^4.17.21", None),
        ("pnpm install --frozen-lockfile", ["--frozen-lockfile"]),
        ("yarn add lodash", ["lodash"]),
        ("conda install -y -c conda-forge numpy=1.26", None),
    ],
)
def test_an_allowed_command_is_an_argv_word_for_word(text: str, argv: list[str] | None) -> None:
    command = parse_setup(text, STRICT)
    assert argv is None or list(command.words) == argv
    assert all(word.strip() for word in command.argv)


def test_packages_of_the_system_are_the_operators_to_allow() -> None:
    text = "apt-get install -y --no-install-recommends libpq-dev"
    with pytest.raises(SetupRefused, match="operator"):
        parse_setup(text, STRICT)
    assert parse_setup(text, Policy(apt=True)).kind == "apt"


def test_an_index_that_the_operator_allows_is_let_in() -> None:
    for text in (
        "pip install --index-url https://packages.example/simple flask",
        "pip install --extra-index-url=https://packages.example/simple/internal/ flask",
        "pip install git+https://git.example/team/lib.git",
        "npm install --registry https://packages.example/simple left-pad",
    ):
        parse_setup(text, OPEN)
        with pytest.raises(SetupRefused):
            parse_setup(text, STRICT)


def test_more_than_twelve_are_refused_and_a_double_counts_once() -> None:
    parse_all([f"pip install a{n}" for n in range(12)] * 2, STRICT)
    with pytest.raises(SetupRefused, match="13"):
        parse_all([f"pip install a{n}" for n in range(13)], STRICT)


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("https://github.com/org", True),
        ("https://github.com/org/repo.git", True),
        ("https://GitHub.com/org/repo", True),
        ("https://github.com:443/org", True),
        ("https://github.com/org-evil", False),
        ("https://github.com.evil.example/org", False),
        ("https://github.com/org/../evil", False),
        ("https://github.com/org%2f..%2fevil", False),
        ("https://a@github.com/org", False),
        ("http://github.com/org", False),
        ("https://github.com:444/org", False),
        ("https://github.com\\@evil.example/org", False),
        ("https://[bad/org", False),
    ],
)
def test_addresses_are_compared_by_their_parts(address: str, allowed: bool) -> None:
    """Pitfall 39: by its beginning, org let in org-evil."""
    assert is_allowed(address, ["https://github.com/org"]) is allowed


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://evil.example/simple",
        "--extra-index-url=https://evil.example",
        "-i https://evil.example",
        "--find-links https://evil.example",
        "x @ https://evil.example/x.whl",
        "git+https://evil.example/x.git",
        "-e git+https://evil.example/x.git#egg=x",
        "https://evil.example/x.whl",
        "flask \\\n  --index-url https://evil.example",
        "-r more.txt",
        "-rmore.txt",
        "-ihttps://evil.example",
        "--index https://evil.example",
        "--pre --index-url=https://evil.example",
        "--extra-index-url 'https://evil.example'",
        "--find-links=//evil.example/x",
        "flask --global-option=x",
        "x@file:///etc/x.whl",
        "x @ file:x.whl",
        "--trusted-host evil.example",
        "--no-index -r more.txt",
    ],
)
def test_a_requirements_file_cannot_lead_to_a_foreign_address(line: str) -> None:
    texts = {"requirements.txt": line, "more.txt": "x @ https://evil.example/x.whl"}
    with pytest.raises(RequirementsRefused):
        refuse_foreign(with_included("requirements.txt", texts.get), STRICT)


@pytest.mark.parametrize(
    "line", ["-r ../../etc/passwd", "-r /etc/passwd", "-r https://e.example/r"]
)
def test_a_requirements_file_cannot_include_what_is_outside(line: str) -> None:
    with pytest.raises(RequirementsRefused, match="outside"):
        with_included("requirements.txt", {"requirements.txt": line}.get)
