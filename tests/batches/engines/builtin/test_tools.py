"""The tools by themselves: held inside the tree, bounded, and clear about what they refuse."""

import os
import stat
from pathlib import Path

import pytest

from batches.engines.builtin.conversation import Call
from batches.engines.builtin.tools.jail import Jail
from batches.engines.builtin.tools.shell import Shell
from batches.engines.builtin.tools.toolbox import Outcome, Question, Toolbox


class Tools:
    def __init__(self, tree: Path) -> None:
        self.tree = tree
        env = {"PATH": os.environ["PATH"], "HOME": str(tree.parent)}
        self._box = Toolbox(Jail(tree), Shell(tree, env))

    def __call__(self, name: str, **arguments: object) -> Outcome:
        import json

        return self._box.use(Call("1", name, json.dumps(arguments)))

    def raw(self, name: str, arguments: str) -> Outcome:
        return self._box.use(Call("1", name, arguments))


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "outside.txt").write_text("secret")
    (tmp_path / "elsewhere").mkdir()
    (tree / "inside.txt").write_text("one\ntwo\nthree\n")
    (tree / "link-in").symlink_to("inside.txt")
    (tree / "link-out").symlink_to("../outside.txt")
    (tree / "folder-out").symlink_to(tmp_path / "elsewhere")
    (tree / ".git").mkdir()
    return Tools(tree)


OUTSIDE = [
    "../outside.txt",
    "link-out",
    "folder-out/new.txt",
    "/etc/passwd",
    "a/../../outside.txt",
    "../tree-next-door/x",
    "~/../../etc/passwd/../../../etc/shadow",
    "nul\0byte",
    "x" * 5_000,
    "\ud800",
]


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: ascii(path)[:30])
@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("read_file", {}),
        ("create_file", {"content": "x"}),
        ("edit_file", {"edits": [{"search": "secret", "replace": "x"}]}),
        ("list_files", {}),
    ],
)
def test_no_path_leads_out_of_the_tree(
    tools: Tools, name: str, extra: dict[str, object], path: str
) -> None:
    if path.startswith("~"):
        assert not tools(name, path="../" + path, **extra).ok
        return
    assert not tools(name, path=path, **extra).ok
    assert (tools.tree.parent / "outside.txt").read_text() == "secret"
    assert list((tools.tree.parent / "elsewhere").iterdir()) == []


def test_a_link_within_the_tree_is_followed(tools: Tools) -> None:
    assert "two" in tools("read_file", path="link-in").text
    edit = [{"search": "two", "replace": "2"}]
    assert tools("edit_file", path="link-in", edits=edit).changed == {"inside.txt": "edited"}
    assert (tools.tree / "link-in").is_symlink()


@pytest.mark.parametrize(
    "path", [".git/hooks/post-checkout", ".GIT/config", "sub/.git/config", "."]
)
def test_gits_own_files_are_not_written(tools: Tools, path: str) -> None:
    outcome = tools("create_file", path=path, content="x")
    assert not outcome.ok
    assert "git's own" in outcome.text


def test_a_file_is_read_with_numbers(tools: Tools) -> None:
    assert tools("read_file", path="inside.txt").text == "     1  one\n     2  two\n     3  three"
    assert tools("read_file", path="inside.txt", start_line=2, end_line=2).text == "     2  two"
    assert not tools("read_file", path="inside.txt", start_line=9).ok


def test_of_a_long_file_the_ends_are_read_and_the_rest_by_number(tools: Tools) -> None:
    (tools.tree / "long").write_text("".join(f"line {n}\n" for n in range(1, 2_001)))
    text = tools("read_file", path="long").text
    assert "   200  line 200\n[1,750 of 2,000 lines left out" in text
    assert text.endswith("  2000  line 2000")
    assert "  1000  line 1000" in tools("read_file", path="long", start_line=900).text


def test_what_is_read_is_bounded(tools: Tools) -> None:
    (tools.tree / "wide").write_text("x" * 1_000_000 + "\n")
    (tools.tree / "both").write_text(("y" * 3_000 + "\n") * 400)
    assert len(tools("read_file", path="wide").text) < 2_100
    assert len(tools("read_file", path="both").text) < 51_000


def test_a_huge_file_is_not_taken_into_memory(tools: Tools) -> None:
    with (tools.tree / "huge").open("wb") as file:
        file.truncate(5 * 1024**3)
    outcome = tools("read_file", path="huge")
    assert (outcome.ok, "5,368,709,120 bytes" in outcome.text) == (False, True)
    assert tools("search_codebase", pattern="nothing").text == "(nothing found)"


def test_what_is_no_text_is_refused(tools: Tools) -> None:
    (tools.tree / "binary").write_bytes(b"\x7fELF\0\0")
    (tools.tree / "latin").write_bytes("käse\n".encode("latin-1"))
    os.mkfifo(tools.tree / "pipe")
    assert "binary" in tools("read_file", path="binary").text
    assert not tools("read_file", path="pipe").ok
    assert "k\N{REPLACEMENT CHARACTER}se" in tools("read_file", path="latin").text
    edit = [{"search": "se", "replace": "x"}]
    assert "not UTF-8" in tools("edit_file", path="latin", edits=edit).text
    assert (tools.tree / "latin").read_bytes() == "käse\n".encode("latin-1")
    assert not tools("read_file", path=".").ok


def test_a_file_is_created_once(tools: Tools) -> None:
    assert tools("create_file", path="a/b/c.txt", content="é").changed == {"a/b/c.txt": "created"}
    assert not tools("create_file", path="a/b/c.txt", content="again").ok
    assert (tools.tree / "a/b/c.txt").read_text() == "é"
    assert not tools("create_file", path="inside.txt/below", content="x").ok
    assert not tools.raw("create_file", '{"path": "s", "content": "\\ud800"}').ok
    assert not (tools.tree / "s").exists()


def test_edits_are_made_all_or_none(tools: Tools) -> None:
    good, bad = {"search": "one", "replace": "1"}, {"search": "nine", "replace": "9"}
    assert not tools("edit_file", path="inside.txt", edits=[good, bad]).ok
    assert (tools.tree / "inside.txt").read_text() == "one\ntwo\nthree\n"
    assert tools("edit_file", path="inside.txt", edits=[good, {"search": "1", "replace": "I"}]).ok
    assert (tools.tree / "inside.txt").read_text() == "I\ntwo\nthree\n"


def test_an_edit_must_be_found_once(tools: Tools) -> None:
    (tools.tree / "twice").write_text("a\nb\na\n")
    edit = {"search": "a", "replace": "x"}
    assert "found 2 times" in tools("edit_file", path="twice", edits=[edit]).text
    assert tools("edit_file", path="twice", edits=[{"search": "b\na", "replace": "c"}]).ok
    assert (tools.tree / "twice").read_text() == "a\nc\n"


def test_blanks_at_the_ends_of_lines_do_not_hide_the_place(tools: Tools) -> None:
    (tools.tree / "code.py").write_text("def f():   \n    return 1\t\nf()")
    edit = {"search": "def f():\n    return 1\n", "replace": "def f():\n    return 2\n"}
    assert tools("edit_file", path="code.py", edits=[edit]).ok
    assert (tools.tree / "code.py").read_text() == "def f():\n    return 2\nf()"


def test_line_ends_and_permissions_stay(tools: Tools) -> None:
    script = tools.tree / "run.bat"
    script.write_bytes(b"one\r\ntwo\r\n")
    script.chmod(0o755)
    assert tools(
        "edit_file", path="run.bat", edits=[{"search": "one\ntwo", "replace": "1\n2\n3"}]
    ).ok
    assert script.read_bytes() == b"1\r\n2\r\n3\r\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o755


def test_files_are_listed_without_what_nobody_wrote(tools: Tools) -> None:
    (tools.tree / "a" / "b" / "c" / "d").mkdir(parents=True)
    (tools.tree / "a" / "b" / "x.py").touch()
    (tools.tree / "node_modules" / "m").mkdir(parents=True)
    listed = tools("list_files").text.split("\n")
    links = ["folder-out", "inside.txt", "link-in", "link-out"]
    assert listed == ["a/", "a/b/", "a/b/c/", "a/b/x.py", *links]
    assert tools("list_files", path="a", pattern="*.py").text == "a/b/x.py"
    assert tools("list_files", path="a", max_depth=1).text == "a/b/"


def test_a_list_is_bounded(tools: Tools) -> None:
    for number in range(700):
        (tools.tree / f"{number:04}").touch()
    listed = tools("list_files").text.split("\n")
    assert len(listed) == 501
    assert "there are more" in listed[-1]


def test_lines_are_found_by_expression_and_name(tools: Tools) -> None:
    (tools.tree / "src").mkdir()
    (tools.tree / "src" / "a.py").write_text("import os\nprint(1)\n")
    (tools.tree / "src" / "b.txt").write_text("print(2)\n")
    found = tools("search_codebase", pattern=r"print\(\d", file_glob="*.py").text
    assert found == "src/a.py:2: print(1)"
    assert "stopped at 1 results" in tools("search_codebase", pattern="t", max_results=1).text
    assert not tools("search_codebase", pattern="(").ok


def test_an_expression_that_takes_for_ever_is_stopped(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("batches.engines.builtin.tools.search.DEADLINE_S", 0.3)
    (tools.tree / "bomb").write_text("a" * 60 + "!\n")
    assert "stopped after" in tools("search_codebase", pattern="(a|a|aa)+$").text


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("read_file", "", "lack path"),
        ("read_file", "[]", "must be an object"),
        ("read_file", '{"path": 1}', "path must be of type string"),
        ("read_file", '{"path": "a", "start_line": true}', "type integer"),
        ("read_file", '{"path": "a", "start_line": 0}', "from 1 to"),
        ("edit_file", '{"path": "a", "edits": []}', "edits is empty"),
        ("edit_file", '{"path": "a", "edits": [{"search": "x"}]}', "number 1, lack replace"),
        ("run_command", '{"command": "a\\u0000b"}', "NUL"),
        ("run_command", '{"command": "a", "timeout": 301}', "from 1 to 300"),
        ("read_file", "[" * 100_000, "no valid JSON"),
        ("fly", "{}", "There is no tool 'fly'"),
    ],
)
def test_wrong_arguments_are_told_to_the_model(
    tools: Tools, name: str, arguments: str, said: str
) -> None:
    outcome = tools.raw(name, arguments)
    assert not outcome.ok
    assert said in outcome.text


def test_null_is_as_good_as_absent(tools: Tools) -> None:
    assert tools("read_file", path="inside.txt", start_line=None, end_line=None).ok


def test_a_question_is_for_a_person(tools: Tools) -> None:
    with pytest.raises(Question, match="Why"):
        tools("ask", question="Why?")


def test_the_tests_of_a_project_are_found_and_run(tools: Tools) -> None:
    assert not tools("run_tests").ok
    (tools.tree / "Makefile").write_text("test:\n\t@echo all is well\n")
    outcome = tools("run_tests")
    assert (outcome.ok, outcome.text) == (True, "$ make test\nall is well\n\n[exit code 0]")
    (tools.tree / "package.json").write_text('{"scripts": {"test": "x"}}')
    assert not tools("run_tests", test_path="../outside").ok
