import os

import pytest

from batches.gates.catalog import (
    Gate,
    GateError,
    parse_gate,
    parse_policy,
    select,
    workspace_gate,
)


@pytest.fixture
def tree(tmp_path):
    def make(**files):
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return tmp_path

    return make


def names(gates: list[Gate]) -> list[str]:
    return [gate.name for gate in gates]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("pytest.ini", ""),
        ("pytest.toml", ""),
        ("pyproject.toml", "[tool.pytest.ini_options]\n"),
        ("pyproject.toml", "[tool.pytest]\n"),
        ("tox.ini", "[tox]\n[pytest]\n"),
        ("setup.cfg", "[tool:pytest]\naddopts = -q\n"),
        ("conftest.py", ""),
        ("tests/test_a.py", ""),
        ("tests/unit/deep/a_test.py", ""),
        ("test/test_a.py", ""),
        ("tests/conftest.py", ""),
        ("test_a.py", ""),
    ],
)
def test_pytest_is_found_by_its_configuration_or_its_files(tree, file, content):
    assert names(select("auto", tree(**{file: content}))) == ["pytest"]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("setup.py", ""),
        ("pyproject.toml", "[project]\nname = 'pytest'\n"),
        ("pyproject.toml", "tool = 3\n"),
        ("setup.cfg", "[metadata]\n"),
        ("tests/data.json", "{}"),
        ("tests/__init__.py", ""),
        ("src/contest.py", ""),
        ("a.py", "import os\n"),
    ],
)
def test_a_tree_without_tests_asks_for_no_gate(tree, file, content):
    assert select("auto", tree(**{file: content})) == []


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("ruff.toml", ""),
        (".ruff.toml", ""),
        ("pyproject.toml", "[tool.ruff]\n"),
        ("pyproject.toml", "[tool.ruff.lint]\nselect = []\n"),
    ],
)
def test_ruff_is_found_where_the_repository_configures_it(tree, file, content):
    assert names(select("auto", tree(**{file: content}))) == ["ruff"]


def test_a_broken_configuration_does_not_switch_its_gates_off(tree):
    broken = tree(**{"pyproject.toml": "[tool.ruff]\n[tool.pytest]\nx = \n"})
    assert names(select("auto", broken)) == ["ruff", "pytest"]


def test_a_pipe_in_place_of_a_configuration_blocks_nobody(tmp_path):
    for name in ("pyproject.toml", "tox.ini", "setup.cfg"):
        os.mkfifo(tmp_path / name)
    assert select("auto", tmp_path) == []


def test_a_gate_that_the_base_asked_for_stays_when_the_tests_are_deleted(tmp_path):
    assert names(select("auto", tmp_path, expected=["pytest"])) == ["pytest"]


def test_auto_adds_every_gate_of_the_workspace(tree):
    own = [parse_gate("unit=make test"), parse_gate("types=mypy src")]
    assert names(select("auto", tree(**{"ruff.toml": ""}), own)) == ["ruff", "unit", "types"]


def test_a_workspaces_gate_takes_the_place_of_the_catalogs(tree):
    own = parse_gate("pytest=make test")
    assert select("auto", tree(**{"pytest.ini": ""}), [own]) == [own]


def test_none_chooses_nothing(tree):
    assert select("none", tree(**{"pytest.ini": ""}), [parse_gate("a=b")]) == []


def test_named_gates_are_chosen_in_their_order_and_once(tmp_path):
    own = [parse_gate("unit=make test")]
    assert names(select(["unit", "ruff", "unit"], tmp_path, own)) == ["unit", "ruff"]
    assert names(select("pytest", tmp_path)) == ["pytest"]


def test_an_unknown_gate_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(GateError, match=r"'pytset'.*pytest, ruff, unit"):
        select(["pytset"], tmp_path, [parse_gate("unit=make")])


def test_an_empty_choice_is_not_taken_for_none(tmp_path):
    with pytest.raises(GateError, match="none"):
        select([], tmp_path)


def test_a_policy_is_a_word_or_names():
    assert parse_policy("auto") == "auto"
    assert parse_policy(" none ") == "none"
    assert parse_policy("ruff, unit,") == ["ruff", "unit"]
    with pytest.raises(GateError):
        parse_policy(" , ")


def test_auto_beside_names_is_no_gate(tmp_path):
    with pytest.raises(GateError, match="'auto'"):
        select(parse_policy("auto,ruff"), tmp_path)


def test_a_gate_is_written_as_name_and_command():
    gate = parse_gate("unit=npm run test -- --grep 'a b'")
    assert (gate.name, gate.program) == ("unit", "npm")
    assert gate.arguments == ("run", "test", "--", "--grep", "a b")


@pytest.mark.parametrize(
    "text", ["unit", "=make", "a/b=make", "..=make", "unit=", "unit='x", "unit=a | b", "auto=x"]
)
def test_a_gate_written_wrongly_is_refused(text):
    with pytest.raises(GateError):
        parse_gate(text)


@pytest.mark.parametrize(
    "definition",
    [
        {},
        {"name": "a"},
        {"name": "a", "argv": "make"},
        {"name": "a", "argv": []},
        {"name": "a", "argv": [""]},
        {"name": "a", "argv": ["x", 1]},
        {"name": "a", "argv": ["x\0"]},
        {"name": 1, "argv": ["x"]},
        *(
            {"name": "a", "argv": ["x"], "timeout_s": timeout}
            for timeout in (0, -1, "9", True, None, float("nan"), float("inf"), 10**9)
        ),
    ],
)
def test_a_row_that_is_no_gate_is_refused(definition):
    with pytest.raises(GateError):
        workspace_gate(definition)


def test_a_row_says_name_argv_and_timeout():
    gate = workspace_gate({"name": "unit", "argv": ["make", "{x}"], "timeout_s": 5})
    assert (gate.program, gate.arguments, gate.timeout_s) == ("make", ("{x}",), 5.0)
