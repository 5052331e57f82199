"""Bad input: one line on stderr that says what and where, exit code 2, and nothing written."""

import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.site import Done, Site
from tests.fakes import AGENT
from tests.repos import git, make_repository

LONG = "x" * 100_000
RUN = ("runbatch", "-w", "shop")
FIXER = ("--engine", "fixer")
AS_COMMAND = ("--all-ready", "--command")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bad")


@pytest.fixture(scope="module")
def world(folder: Path, empty: bytes) -> Iterator[Site]:
    """Some of everything, so that there is something that could be changed by mistake."""
    site = Site(folder, empty)
    make_repository(folder / "shop", {"a.txt": "a\n"})
    make_repository(folder / "free", {"a.txt": "a\n"})
    make_repository(folder / "empty")
    git(folder, "clone", "--quiet", "--bare", str(folder / "shop"), str(folder / "bare"))
    (folder / "plain").mkdir()
    (folder / "shop" / "inside").mkdir()
    (folder / "tasks.txt").write_text("- [ ] a\n")
    (folder / "good.md").write_text("- [ ] a task\n")
    (folder / "locked.yaml").mkdir()
    (folder / "nul.yaml").write_bytes(b"- title: a\0b\n")
    (folder / "latin.md").write_bytes(b"- [ ] caf\xe9\n")
    site.good("workspace", "add", str(folder / "shop"), "--gate", "unit=true")
    site.good("workspace", "add", str(folder / "bare"))
    site.good("workspace", "add", str(make_repository(folder / "idle", {"a": "a"})))
    site.add_agent()
    site.good("engine", "add", "other", "--", *AGENT)
    first = site.add_task("shop", "first")
    second = site.good("task", "add", "second", "-w", "shop", "--depends-on", first)
    (folder / "first").write_text(first)
    (folder / "second").write_text(second.out.split()[0])
    yield site
    site.destroy()


def refused(site: Site, *words: str | bytes, input: bytes = b"", lines: int = 1) -> Done:
    """With so many lines, exit code 2, and everything as it was."""
    before = site.dump()
    files = kept_files(site)
    done = site.quickly(*words, input=input)
    assert done.code == 2, done
    assert done.out == ""
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) == lines
    assert len(done.err) < 1200
    assert site.dump() == before
    assert kept_files(site) == files
    return done


def kept_files(site: Site) -> list[Path]:
    """Without `stores`, by which a repository is only looked at."""
    return sorted(path for path in site.state.iterdir() if path.name != "stores")


ROWS = [
    # -- workspace
    (("workspace",), "required: VERB"),
    (("workspace", "frobnicate"), "invalid choice: 'frobnicate'"),
    (("workspace", "add"), "required: PATH"),
    (("workspace", "add", "{folder}/nowhere"), "nowhere: this folder does not exist"),
    (("workspace", "add", "{folder}/plain"), "plain: this is not a git repository"),
    (("workspace", "add", "{folder}/good.md"), "good.md: this is not a folder"),
    (("workspace", "add", "{folder}/shop/inside"), "inside the repository .*/shop"),
    (("workspace", "add", "{folder}/empty"), "empty: .*no commit"),
    (("workspace", "add", "{folder}/shop"), "shop is registered already, as shop"),
    (("workspace", "add", "{folder}/free", "--name", "shop"), "named shop exists already"),
    (("workspace", "add", "{folder}/free", "--name", "a/b"), "'a/b' cannot name a workspace"),
    (("workspace", "add", "{folder}/free", "--name", LONG), "cannot name a workspace"),
    (("workspace", "add", LONG), "x… this folder does not exist"),
    (("workspace", "add", "~nobody-of-that-name/x"), "is not a path"),
    (("workspace", "add", b"{folder}/caf\xe9"), "is not UTF-8 text"),
    (("workspace", "add", "{folder}/free", "--gate", "unit"), "write it as name=command"),
    (("workspace", "add", "{folder}/free", "--gate", "a b=true"), "'a b' cannot name a gate"),
    (("workspace", "add", "{folder}/free", "--gate", "unit="), "Gate 'unit': .*empty"),
    (("workspace", "add", "{folder}/free", "--gate", "unit=a | b"), "is shell syntax"),
    (("workspace", "add", "{folder}/free", "--gate", 'unit="a'), "cannot be split into words"),
    (
        ("workspace", "add", "{folder}/free", "--gate", "u=a", "--gate", "u=b"),
        "u is given twice",
    ),
    (
        ("workspace", "add", "{folder}/free", "--gate", "u=a", "--no-gates"),
        "exclude each other",
    ),
    (("workspace", "remove", "nothing"), "no workspace is named 'nothing'"),
    (("workspace", "remove", "f---"), "no workspace is named 'f---'"),
    (("workspace", "remove", "0000"), "no workspace has an id that begins with 0000"),
    # -- task
    (("task", "add", "a"), "required: --workspace"),
    (("task", "add", "a", "-w", ""), "no workspace is named"),
    (("task", "add", "a", "-w", LONG), "no workspace is named 'x+…' or"),
    (("task", "add", "", "-w", "shop"), "title: "),
    (("task", "add", "   ", "-w", "shop"), "title: "),
    (("task", "add", "a\nb", "-w", "shop"), "title: must be one line"),
    (("task", "add", "a\x1b[2Jb", "-w", "shop"), "title: must be one line"),
    (("task", "add", LONG, "-w", "shop"), "title: .*at most 500 char"),
    (("task", "add", b"caf\xe9", "-w", "shop"), "title: .*is not UTF-8"),
    (("task", "add", "a", "-w", "shop", "--key", LONG), "key: .*at most"),
    (("task", "add", "a", "-w", "shop", "--depends-on", "zzzz"), "'zzzz' is not a task id"),
    (("task", "add", "a", "-w", "shop", "--depends-on", "ffffffff"), "no task has an id"),
    (("task", "add", "a", "-w", "idle", "--depends-on", "{first}"), "no task has an id"),
    (("task", "add", "a", "-w", "shop", "--priority", "high"), "invalid int value: 'high'"),
    (("task", "add", "a", "-w", "shop", "--priority", "-1"), "priority: "),
    (("task", "add", "a", "-w", "shop", "--priority", "9" * 30), "priority: "),
    (("task", "add", "a", "-w", "shop", "--priority", "9" * 5000), "invalid int value"),
    (("task", "add", "a", "-w", "shop", "--estimate", "-1"), "estimate"),
    (("task", "add", "a", "-w", "shop", "--estimate", "nan"), "estimate"),
    (("task", "add", "a", "-w", "shop", "--estimate", "inf"), "estimate"),
    (("task", "add", "a", "-w", "shop", "--complexity", "0"), "complexity"),
    (("task", "add", "a", "-w", "shop", "--complexity", "99999"), "complexity"),
    (("task", "add", "a", "-w", "shop", "--uncertainty", "huge"), "invalid choice: 'huge'"),
    (("task", "list", "-w", "shop", "--status", "ready!"), "'ready!' is no status"),
    (("task", "show", "{first}x"), "is not a task id"),
    (("task", "show", "abc"), "4 or more of its hex digits"),
    (("task", "set-status", "cooked", "{first}"), "'cooked' is no status"),
    (("task", "set-status", "merged", "{first}"), "a task that is READY cannot become MERGED"),
    (("task", "set-status", "backlog", "{first}", "ffffffff"), "no task has an id"),
    (("task", "set-status", "ready", "{second}", "{first}"), "READY cannot become READY"),
    (("task", "delete", "{first}", "f---"), "'f---' is not a task id"),
    (("task", "import", "{folder}/tasks.txt", "-w", "shop"), r"tasks.txt: a task file ends in"),
    (("task", "import", "{folder}/nowhere.md", "-w", "shop"), "nowhere.md: No such file"),
    (("task", "import", "{folder}/locked.yaml", "-w", "shop"), "locked.yaml: Is a directory"),
    (("task", "import", "{folder}/nul.yaml", "-w", "shop"), r"^nul.yaml:1:11: .*U\+0000"),
    (("task", "import", "{folder}/latin.md", "-w", "shop"), "^latin.md:1: not UTF-8"),
    (("task", "import", "/dev/null/a.md", "-w", "shop"), "a.md: Not a directory"),
    (("task", "import", LONG + ".md", "-w", "shop"), "File name too long"),
    (("task", "import", "{folder}/good.md", "-w", "nothing"), "no workspace is named"),
    # -- engine
    (("engine", "add", "fixer", "--", "true"), "an engine named fixer exists already"),
    (("engine", "add", "command", "--", "true"), "'command' cannot name an engine"),
    (("engine", "add", "a b", "--", "true"), "'a b' cannot name an engine"),
    (("engine", "add", LONG, "--", "true"), "cannot name an engine"),
    (("engine", "add", "new"), "required: WORD"),
    (("engine", "add", "new", "--", "no-such-program"), "no-such-program is not on"),
    (("engine", "add", "new", "--", "bin/agent"), "'bin/agent' is a relative path"),
    (("engine", "add", "new", "--", "true", "{{prompt"), "is not a placeholder"),
    (("engine", "add", "new", "--", "true", "{{secret}}"), "is not a placeholder"),
    (("engine", "add", "new", "--pass-env", "A=B", "--", "true"), "'A=B' is not the name"),
    (
        ("engine", "add", "new", "--pass-env", "CODEFRAME_SECRET_KEY", "--", "true"),
        "cannot be passed through",
    ),
    (("engine", "add", "new", "--prompt-via", "mail", "--", "true"), "invalid choice: 'mail'"),
    (("engine", "add", "new", "--", b"\xe9"), "is not UTF-8 text"),
    (("engine", "remove", "nothing"), "there is no engine 'nothing'"),
    (("engine", "remove", LONG), "there is no engine"),
    # -- batch
    (("batch",), "required: VERB"),
    (("batch", "list", "--limit", "0"), "from 1 to 1000, not '0'"),
    (("batch", "list", "--limit", "-5"), "from 1 to 1000, not '-5'"),
    (("batch", "list", "--limit", "some"), "from 1 to 1000, not 'some'"),
    (("batch", "list", "--limit", "9" * 30), "from 1 to 1000"),
    (("batch", "list", "--status", "DONE"), "--status: 'DONE' is none"),
    (("batch", "list", "-w", "nothing"), "no workspace is named 'nothing'"),
    (("batch", "show", "f---"), "'f---' is not a batch id"),
    (("batch", "show", "ffffffff"), "no batch has an id that begins with ffffffff"),
    (("batch", "cancel", LONG), "is not a batch id"),
    (("batch", "retry", "ffffffff"), "required: TASK"),
    # -- drain
    (("drain", "--timeout", "-1"), "must be a number of seconds from 0, not '-1'"),
    (("drain", "--timeout", "nan"), "must be a number of seconds"),
    # -- runbatch: what
    (("runbatch", "--all-ready"), "required: --workspace"),
    (("runbatch", "-w", "nothing", "--all-ready", *FIXER), "no workspace is named 'nothing'"),
    ((*RUN, *FIXER), "say what to run"),
    ((*RUN, "{first}", "--all-ready", *FIXER), r"\(one of them\)"),
    ((*RUN, "--all-ready", "--tasks-file", "{folder}/good.md", *FIXER), r"\(one of them\)"),
    ((*RUN, "{first}", "--tasks-file", "{folder}/good.md", *FIXER), r"\(one of them\)"),
    ((*RUN, "ffffffff", *FIXER), "no task has an id that begins with ffffffff"),
    (("runbatch", "-w", "idle", "{first}", *FIXER), "no task has an id"),
    ((*RUN, "{second}", *FIXER), "second needs first, which is READY"),
    ((*RUN, "--tasks-file", "{folder}/nowhere.md", *FIXER), "nowhere.md: No such file"),
    ((*RUN, "--tasks-file", "{folder}/tasks.txt", *FIXER), "a task file ends in"),
    # -- runbatch: how
    ((*RUN, "--all-ready"), 'say which agent: --engine NAME .* or --command "..."'),
    ((*RUN, "--all-ready", "--engine", "nothing"), "there is no engine 'nothing'.*fixer, other"),
    ((*RUN, "--all-ready", "--engine", "command"), "--engine command needs --command"),
    ((*RUN, *FIXER, *AS_COMMAND, "true"), "--engine and --command exclude each other"),
    ((*RUN, "--all-ready", *FIXER, "--pass-env", "A"), "--pass-env belongs to --command"),
    ((*RUN, *AS_COMMAND, "agent 'x"), "--command: .*No closing quotation"),
    ((*RUN, *AS_COMMAND, "true | tee log"), r"--command: \| is shell syntax"),
    ((*RUN, *AS_COMMAND, "true; true"), "--command: ; is shell syntax"),
    ((*RUN, *AS_COMMAND, "   "), "--command: The command is empty"),
    ((*RUN, *AS_COMMAND, "no-such-program --x"), "no-such-program is not on"),
    ((*RUN, *AS_COMMAND, "true {{who}}"), r"\{who\} in '\{who\}' is not a placeholder"),
    ((*RUN, *AS_COMMAND, "true", "--pass-env", "1A"), "'1A' is not the name"),
    ((*RUN, "--all-ready", *FIXER, "--strategy", "auto"), "auto needs a model"),
    ((*RUN, "--all-ready", *FIXER, "--strategy", "fast"), "invalid choice: 'fast'"),
    ((*RUN, "--all-ready", *FIXER, "--max-parallel", "0"), "--max-parallel: .*from 1 to 64"),
    ((*RUN, "--all-ready", *FIXER, "--max-parallel", "99"), "from 1 to 64, not '99'"),
    ((*RUN, "--all-ready", *FIXER, "--max-parallel", "two"), "from 1 to 64, not 'two'"),
    ((*RUN, "--all-ready", *FIXER, "--max-retries", "-1"), "--max-retries: .*not '-1'"),
    ((*RUN, "--all-ready", *FIXER, "--timeout", "-1"), "--timeout: .*not '-1'"),
    ((*RUN, "--all-ready", *FIXER, "--timeout", "1e3"), "--timeout: .*not '1e3'"),
    ((*RUN, "--all-ready", *FIXER, "--stall-timeout", "-5"), "--stall-timeout: .*not '-5'"),
    ((*RUN, "--all-ready", *FIXER, "--gates", "unit,mypi"), "There is no gate 'mypi'"),
    ((*RUN, "--all-ready", *FIXER, "--gates", ","), "--gates: Say auto, none, or the names"),
    ((*RUN, "--all-ready", *FIXER, "--land", "now"), "invalid choice: 'now'"),
    (
        ("runbatch", "-w", "bare", "--all-ready", *FIXER, "--isolation", "none"),
        "a bare repository has no tree",
    ),
    ((*RUN, "--all-ready", *FIXER, "--frobnicate"), "unrecognized arguments: --frobnicate"),
    ((*RUN, "--all-ready", *FIXER, "a\nb"), r"\(one of them\)"),
]


def filled(word: str | bytes, folder: Path) -> str | bytes:
    """With the world's names in it; doubled braces are braces."""
    names = {"folder": str(folder)}
    names |= {name: (folder / name).read_text() for name in ("first", "second")}
    if isinstance(word, bytes):
        return word.replace(b"{folder}", os.fsencode(folder))
    return word.format(**names) if "{" in word else word


@pytest.mark.parametrize(
    ("words", "told"), ROWS, ids=[" ".join(map(str, row[0]))[:70] for row in ROWS]
)
def test_it_is_refused_with_one_line_and_nothing_is_written(
    words: tuple[str | bytes, ...], told: str, world: Site, folder: Path
) -> None:
    done = refused(world, *(filled(word, folder) for word in words))
    assert re.search(told, done.err), done.err


def test_a_task_file_is_refused_with_a_line_for_each_problem(world: Site, folder: Path) -> None:
    (folder / "bad.yaml").write_text(
        "- title: a\n  priority: high\n- title: b\n  depends_on: [nobody]\n- title: b\n"
    )
    path = str(folder / "bad.yaml")
    for words in (("task", "import", path, "-w", "shop"), (*RUN, "--tasks-file", path, *FIXER)):
        done = refused(world, *words, lines=3)
        assert [line.split(": ")[0] for line in done.err.splitlines()] == [
            "bad.yaml:2",
            "bad.yaml:4",
            "bad.yaml:5",
        ]


def test_a_cycle_in_a_file_is_refused_with_its_path(world: Site, folder: Path) -> None:
    (folder / "cycle.yaml").write_text(
        "- title: a\n  depends_on: [b]\n- title: b\n  depends_on: [a]\n"
    )
    done = refused(world, "task", "import", str(folder / "cycle.yaml"), "-w", "shop")
    assert 'dependency cycle: "a" -> "b" -> "a"' in done.err


def test_a_cycle_through_tasks_that_are_there_is_refused(world: Site, folder: Path) -> None:
    """`second` waits for `first` in the database, the file has it the other way round."""
    (folder / "turn.yaml").write_text("- title: first\n  depends_on: [second]\n")
    path = str(folder / "turn.yaml")
    for words in (
        ("task", "import", path, "-w", "shop", "--update"),
        (*RUN, "--tasks-file", path, *FIXER),
        (*RUN, "--tasks-file", path, *FIXER, "--dry-run"),
    ):
        assert "would form a cycle" in refused(world, *words).err


@pytest.mark.parametrize("extra", [(), ("--dry-run",), ("--detach",)], ids=" ".join)
def test_a_file_whose_batch_is_refused_imports_nothing(
    extra: tuple[str, ...], world: Site, folder: Path
) -> None:
    (folder / "waits.yaml").write_text("- title: later\n  depends_on: [second]\n")
    path = str(folder / "waits.yaml")
    assert "needs second" in refused(world, *RUN, "--tasks-file", path, *FIXER, *extra).err


@pytest.mark.parametrize("extra", [(), ("--dry-run",), ("--detach",)], ids=" ".join)
def test_a_file_that_is_all_done_is_nothing_to_do(
    extra: tuple[str, ...], world: Site, folder: Path
) -> None:
    (folder / "done.md").write_text("- [x] done already\n")
    before = world.dump()
    done = world.quickly(*RUN, "--tasks-file", str(folder / "done.md"), *FIXER, *extra)
    assert (done.code, done.out) == (0, "")
    assert done.err == "nothing to do: the file has no task that is not done already\n"
    assert world.dump() == before


def test_an_import_that_meets_a_task_that_is_there_says_so(world: Site, folder: Path) -> None:
    (folder / "again.md").write_text("- [ ] new\n- [ ] first\n")
    done = refused(world, "task", "import", str(folder / "again.md"), "-w", "shop")
    assert "line 2: the workspace has this task already ('first', READY)" in done.err


def test_an_ambiguous_id_is_refused_with_the_candidates(world: Site, folder: Path) -> None:
    first = (folder / "first").read_text()
    twin = first[:4] + "f" * 28
    with sqlite3.connect(world.database) as connection:
        connection.execute(
            "CREATE TEMP TABLE t AS SELECT * FROM tasks_task WHERE id LIKE ?", (first + "%",)
        )
        connection.execute("UPDATE t SET id = ?", (twin,))
        connection.execute("INSERT INTO tasks_task SELECT * FROM t")
    done = refused(world, "task", "show", first[:4])
    assert f"{first[:4]} is the beginning of more than one task id: " in done.err
    assert twin[:12] in done.err
    with sqlite3.connect(world.database) as connection:
        connection.execute("DELETE FROM tasks_task WHERE id = ?", (twin,))


def test_bytes_that_are_no_text_are_refused_as_a_description(world: Site) -> None:
    words = ("task", "add", "a", "-w", "shop", "--description", "-")
    assert "not UTF-8 text" in refused(world, *words, input=b"caf\xe9").err
    assert "more than 5,242,880 bytes" in refused(world, *words, input=b"x" * 5_242_881).err
