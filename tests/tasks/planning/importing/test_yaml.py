"""YAML files: what is read, and where each fault is."""

import time

import pytest
import yaml

from tasks.planning.importing import TaskDraft, yaml_file
from tests.tasks.planning.importing.reading import read, refused

EVERY_FIELD = """\
    tasks:
      - title: Store sessions
        key: store
        description: |
          First line
            indented

          last line
        priority: 2
        estimated_hours: 1.5
        complexity_score: 4
        uncertainty_level: high
        requirement_ids: [REQ-1, REQ-2]
        github_issue_number: 12
        external_url: https://example.org/issue?id=1
        expects_changes: false
        done: true
      - title: Log in
        depends_on:
          - store
    """


def test_every_field_arrives_in_the_draft() -> None:
    assert read(EVERY_FIELD) == [
        TaskDraft(
            title="Store sessions",
            line=2,
            key="store",
            description="First line\n  indented\n\nlast line",
            priority=2,
            estimated_hours=1.5,
            complexity_score=4,
            uncertainty_level="high",
            requirement_ids=("REQ-1", "REQ-2"),
            github_issue_number=12,
            external_url="https://example.org/issue?id=1",
            expects_changes=False,
            done=True,
        ),
        TaskDraft(title="Log in", line=18, depends_on=(0,)),
    ]


def test_a_bare_list_needs_no_tasks_field() -> None:
    assert [draft.title for draft in read("- title: A\n- title: B\n")] == ["A", "B"]


def test_a_byte_order_mark_and_windows_line_ends_change_nothing() -> None:
    text = "- title: A\n  description: |\n    one\n    two\n- title: Ü\n"
    windows = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    assert read(windows) == read(text)


def test_words_that_older_yaml_takes_for_other_things_stay_text() -> None:
    titles = ["No", "on", "12:30", "2024-01-01", "0x1F", "1_000"]
    assert [d.title for d in read("".join(f"- title: {t}\n" for t in titles))] == titles


def test_a_quoted_number_is_a_title_and_a_bare_one_is_not() -> None:
    assert read('- title: "404"\n')[0].title == "404"
    assert refused("- title: 404\n") == [
        "tasks.yaml:1: task: title must be text, not 404; put it in quotes"
    ]


def test_empty_fields_are_as_good_as_absent() -> None:
    assert read("- title: A\n  description:\n  depends_on:\n  priority: ~\n  children:\n") == [
        TaskDraft(title="A", line=1)
    ]


def test_children_are_steps_their_parent_waits_for() -> None:
    drafts = read("""\
        - title: Parent
          children:
            - title: One
              children:
                - title: Deep
            - title: Two
        - title: Next
        """)
    assert [(d.title, d.line, d.parent, d.depends_on) for d in drafts] == [
        ("Parent", 1, None, (1, 3)),
        ("One", 3, 0, (2,)),
        ("Deep", 5, 1, ()),
        ("Two", 6, 0, ()),
        ("Next", 7, None, ()),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1: no tasks found: the file is empty"),
        ("# only a comment\n", "1: no tasks found: the file is empty"),
        ("tasks: []\n", "1: no tasks found: the list is empty"),
        ("tasks:\n", "1: tasks must be a list"),
        ("tasks: soon\n", "1: tasks must be a list"),
        ("hello\n", '1: the file must be a list of tasks, or a "tasks" field'),
        ("- title: A\n- Do it\n", "2: a task must be a mapping of fields, with a title"),
        ("- title: A\n- [x]\n", "2: a task must be a mapping of fields, with a title"),
        ("- title: A\n  children: 3\n", "2: tasks must be a list"),
        ("- title: A\n\n  title: B\n", '3: "title" is given twice, first on line 1'),
        ("- title: A\n  ? [a]\n  : b\n", "2:5: the name of a field must be text"),
        ("- title: A\n- &x\n  title: B\n", "2:3: anchors (&x) are not allowed"),
        ("- title: A\n- *x\n", "2:3: aliases (*x) are not allowed"),
        ("- title: A\n- title: !!str B\n", "2:10: tags (tag:yaml.org,2002:str) are not allowed"),
        ("- !!python/object/apply:os.system [x]\n", "1:3: tags (tag:yaml.org,2002:python/object"
         "/apply:os.system) are not allowed"),
        ("- title: A\n---\n- title: B\n", "2:1: a second document; put all tasks in one"),
    ],
)  # fmt: skip
def test_a_shape_that_is_no_task_list_is_refused_at_its_line(text: str, problem: str) -> None:
    assert refused(text) == [f"tasks.yaml:{problem}"]


def test_a_missing_tasks_field_and_every_stranger_beside_it_are_named() -> None:
    assert refused("version: 1\ntaks:\n  - title: A\n") == [
        'tasks.yaml:1: unknown field "version" beside "tasks"; it must stand alone',
        'tasks.yaml:1: no tasks found: the file needs a list, or a "tasks" field with one',
        'tasks.yaml:2: unknown field "taks" beside "tasks"; it must stand alone',
    ]


def test_a_tab_as_indentation_is_explained() -> None:
    (problem,) = refused("- title: A\n- title: B\n\tpriority: 1\n")
    assert problem.startswith("tasks.yaml:3:1: not YAML: ")
    assert problem.endswith("; indent with spaces, not tabs")


def test_an_open_quote_is_reported_with_the_line_it_began_on() -> None:
    (problem,) = refused("- title: A\n- title: 'B\n- title: C\n")
    assert "not YAML" in problem
    assert problem.endswith("from line 2")


def test_lines_are_counted_as_editors_do_whatever_the_text_holds() -> None:
    # YAML also takes U+2028 for a line break; editors do not.
    assert refused("- title: A\n  description: 'ä\u2028\U0001f600'\n- title: 5\n") == [
        "tasks.yaml:3: task: title must be text, not 5; put it in quotes"
    ]


@pytest.mark.parametrize("data", [b"- title: A\n- title: \xff\n", b"- title: A\n- title: \xc3"])
def test_bytes_that_are_not_utf8_are_refused_at_their_line(data: bytes) -> None:
    (problem,) = refused(data)
    assert problem.startswith("tasks.yaml:2: not UTF-8 text (byte 0x")


def test_every_line_with_unseen_characters_is_listed() -> None:
    assert refused(b"- title: A\x00\n- title: B\n- title: C\x1b[0m\n") == [
        "tasks.yaml:1:11: control character U+0000",
        "tasks.yaml:3:11: control character U+001B",
    ]


def test_unseen_characters_cannot_come_in_by_escapes() -> None:
    assert refused('- title: "A\\0"\n- title: B\n  description: "\\e[0m"\n') == [
        'tasks.yaml:1: task "A\\u0000": title must not contain the character U+0000',
        'tasks.yaml:3: task "B": description must not contain the character U+001B',
    ]


@pytest.mark.parametrize(
    "bomb",
    [
        "[" * 200_000,
        "{a: " * 200_000,
        "- " * 200_000,
        "a: &a [x]\n" + "b: [*a, *a]\n" * 50_000,
        "- title: A\n  children:\n" + "".join(f"{'  ' * d}- children:\n" for d in range(2, 90)),
    ],
    ids=["flow", "mappings", "dashes", "aliases", "children"],
)
def test_bombs_are_refused_at_once(bomb: str) -> None:
    start = time.process_time()
    assert len(refused(bomb)) == 1
    assert time.process_time() - start < 2


def test_files_over_five_megabytes_are_refused_unread() -> None:
    assert refused(b"#" * (5 * 1024 * 1024 + 1)) == [
        "tasks.yaml:1: the file has 5,242,881 bytes; the most is 5,242,880"
    ]


def test_ten_thousand_tasks_are_read_and_one_more_is_refused() -> None:
    text = "".join(f"- title: T{n}\n" for n in range(10_000))
    assert len(read(text)) == 10_000
    assert refused(text + "- title: last\n") == [
        "tasks.yaml:10001: more than 10,000 tasks in one file"
    ]


def test_too_many_values_are_refused_before_they_fill_the_memory() -> None:
    (problem,) = refused("- title: A\n  requirement_ids: [" + "a," * 600_000 + "]\n")
    assert problem.endswith(": more than 500,000 values in one file")


@pytest.mark.parametrize("loader", [yaml_file.LOADER, yaml.SafeLoader], ids=["built", "python"])
@pytest.mark.parametrize(
    "line",
    [
        '- title: "\\UFFFFFFFF"',
        '- title: "\\U00110000"',
        '- title: "\\ud800"',
        "%YAML " + "9" * 5_000,
    ],
)
def test_absurd_escapes_and_versions_are_refused_by_either_parser(
    monkeypatch: pytest.MonkeyPatch, loader: object, line: str
) -> None:
    monkeypatch.setattr(yaml_file, "LOADER", loader)
    (problem,) = refused(f"# first\n{line}\n")
    assert problem.startswith(("tasks.yaml:1:", "tasks.yaml:2:"))


def test_the_parser_in_python_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    built = read(EVERY_FIELD)
    monkeypatch.setattr(yaml_file, "LOADER", yaml.SafeLoader)
    assert read(EVERY_FIELD) == built
