"""Markdown checklists: which lines are tasks, what they wait for, and what else they say."""

import pytest

from tasks.planning.importing import TaskDraft
from tests.tasks.planning.importing.reading import read, refused


def titles(text: str) -> list[str]:
    return [draft.title for draft in read(text, "markdown")]


def waits(text: str, known: dict[str, int] | None = None) -> dict[str, set[str]]:
    drafts = read(text, "markdown", known)
    return {d.title: {drafts[index].title for index in d.depends_on} for d in drafts}


def test_boxes_are_tasks_and_everything_else_is_not() -> None:
    assert titles("""\
        # Plan
        Some text, [ ] not a task.

        - [ ] One
        * plain bullet
        + [x] Two
        - see [x](https://example.org)
        - [x](https://example.org)

        > - [ ] quoted

        ```
        - [ ] in a fence
        ```

        <!--
        - [ ] commented out
        -->
        1) [X] Three
        """) == ["One", "Two", "Three"]


def test_a_ticked_box_is_a_task_that_is_done() -> None:
    text = "- [ ] A\n- [x] B\n- [X] C\n"
    assert [draft.done for draft in read(text, "markdown")] == [False, True, True]


def test_lines_are_those_of_the_file() -> None:
    text = "# Plan\r\n\r\n- [ ] A\r\n  text\r\n- [ ] B\r\n"
    assert [draft.line for draft in read(text.encode(), "markdown")] == [3, 5]


def test_a_task_waits_for_its_sub_steps_and_bullets_do_not_wait_for_each_other() -> None:
    text = """\
        - [ ] A
          - [ ] A1
            - [ ] A1a
          - [ ] A2
        - [ ] B
        """
    assert waits(text) == {"A": {"A1", "A2"}, "A1": {"A1a"}, "A1a": set(), "A2": set(), "B": set()}
    assert [draft.parent for draft in read(text, "markdown")] == [None, 0, 1, 0, None]


def test_in_a_numbered_list_each_step_waits_for_the_one_before() -> None:
    assert waits("1. [ ] A\n2. [ ] B\n3. [ ] C\n") == {"A": set(), "B": {"A"}, "C": {"B"}}


def test_sub_steps_wait_for_the_step_before_their_parent() -> None:
    assert waits("""\
        1. [ ] A
        2. [ ] B
           - [ ] B1
             - [ ] B1a
           - [ ] B2
        3. [ ] C
           1. [ ] C1
           2. [ ] C2
        """) == {
        "A": set(),
        "B": {"A", "B1", "B2"},
        "B1": {"A", "B1a"},
        "B1a": {"A"},
        "B2": {"A"},
        "C": {"B", "C1", "C2"},
        "C1": {"B"},
        "C2": {"C1"},
    }


def test_two_numbered_lists_are_two_orders() -> None:
    assert waits("1. [ ] A\n\ntext\n\n1. [ ] B\n") == {"A": set(), "B": set()}


def test_tasks_under_a_plain_bullet_belong_to_the_task_around_it() -> None:
    drafts = read("- Area\n  - [ ] A\n- [ ] P\n  - part\n    - [ ] B\n", "markdown")
    assert [(draft.title, draft.parent) for draft in drafts] == [("A", None), ("P", None), ("B", 1)]


def test_what_follows_in_an_item_is_its_description() -> None:
    (draft,) = read(
        """\
        - [ ] Title
          next line

          Paragraph *as written* [x]

              code by indentation
          - plain bullet
            1. deeper

          > quoted
        """,
        "markdown",
    )
    assert draft.title == "Title"
    assert draft.description == (
        "next line\n\nParagraph *as written* [x]\n\n    code by indentation\n"
        "- plain bullet\n  1. deeper\n\n> quoted"
    )


def test_fences_come_through_unharmed() -> None:
    text = (
        "1. [ ] Build\n"
        "   ```make\n"
        "   all:\n"
        "   \tgo build\n"
        "\n"
        "   - [ ] not a task\n"
        "   ```\n"
        "   - [ ] Sub\n"
        "     ~~~\n"
        "     if x:\n"
        "         y\n"
        "     ~~~\n"
    )
    build, sub = read(text, "markdown")
    assert build.description == "```make\nall:\n\tgo build\n\n- [ ] not a task\n```"
    assert sub.description == "~~~\nif x:\n    y\n~~~"


def test_each_line_of_text_goes_to_the_innermost_task() -> None:
    outer, inner = read("- [ ] Outer\n  before\n  - [ ] Inner\n    within\n\n  after\n", "markdown")
    assert outer.description.split() == ["before", "after"]
    assert inner.description == "within"


def test_indentation_by_tabs_is_understood() -> None:
    outer, inner = read("- [ ] Outer\n\ttext\n\t  code\n\t- [ ] Inner\n\t\tmore\n", "markdown")
    assert (outer.description, inner.parent, inner.description) == ("text\n  code", 0, "more")


def test_an_underline_or_a_link_definition_is_text_like_any_other() -> None:
    (draft,) = read("- [ ] A\n  ===\n\n  [a]: https://example.org\n", "markdown")
    assert (draft.title, draft.description) == ("A", "===\n\n[a]: https://example.org")


def test_notes_at_the_end_of_a_title_set_fields_in_any_order() -> None:
    assert read("- [ ] A (b) (priority: 2)(Estimate: 90m) (key: a-1)\n", "markdown") == [
        TaskDraft(title="A (b)", line=1, key="a-1", priority=2, estimated_hours=1.5)
    ]


@pytest.mark.parametrize(
    ("estimate", "hours"), [("3h", 3), ("3", 3), ("0.5 h", 0.5), ("45m", 0.75)]
)
def test_estimates_are_hours_or_minutes(estimate: str, hours: float) -> None:
    assert read(f"- [ ] A (estimate: {estimate})\n", "markdown")[0].estimated_hours == hours


@pytest.mark.parametrize("title", ["A (see: docs)", "A (after: B) later", "f(x)", "A :)", "A (b"])
def test_other_brackets_stay_in_the_title(title: str) -> None:
    assert titles(f"- [ ] {title}\n") == [title]


def test_after_names_tasks_by_title_or_key() -> None:
    text = "- [ ] A (key: a)\n- [ ] B (x)\n- [ ] C (after: a, B (x))\n"
    assert waits(text)["C"] == {"A", "B (x)"}


def test_after_finds_titles_with_commas_by_the_longest_match_or_in_quotes() -> None:
    text = """\
        - [ ] Read
        - [ ] Read, write
        - [ ] write
        - [ ] Say "hi", then go
        - [ ] X (after: Read, write)
        - [ ] Y (after: "Read", write)
        - [ ] Z (after: "Read, write", Say "hi", then go, Read)
        """
    found = waits(text)
    assert found["X"] == {"Read, write"}
    assert found["Y"] == {"Read", "write"}
    assert found["Z"] == {"Read, write", 'Say "hi", then go', "Read"}


def test_after_finds_titles_with_unpaired_brackets_in_quotes() -> None:
    assert waits('- [ ] Smile :)\n- [ ] B (after: "Smile :)")\n')["B"] == {"Smile :)"}


def test_after_finds_titles_with_an_unpaired_quote() -> None:
    assert waits('- [ ] A 5" pipe\n- [ ] B (after: A 5" pipe)\n')["B"] == {'A 5" pipe'}


def test_after_finds_tasks_outside_the_file() -> None:
    drafts = read("- [ ] A (after: Old, one)\n", "markdown", {"Old, one": 9})
    assert drafts[0].depends_on_known == (9,)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", '1: no tasks found: a task is a list item with a checkbox, "- [ ] title"'),
        ("- plain\n", '1: no tasks found: a task is a list item with a checkbox, "- [ ] title"'),
        ("- [ ] A\n- [ ]\n", "2: task: title must not be empty"),
        ("- [ ] A\n- [ ] (key: b)\n", "2: task: title must not be empty"),
        ("- [ ] A\n- [] B\n", '2: "[] B": a checkbox is "[ ]" or "[x]" and a space'),
        ("- [ ] A\n- [ ]B\n", '2: "[ ]B": a checkbox is "[ ]" or "[x]" and a space'),
        ("- [ ] A\n- [x ] B\n", '2: "[x ] B": a checkbox is "[ ]" or "[x]" and a space'),
        ("- [ ] A\n- [-] B\n", '2: "[-] B": a checkbox is "[ ]" or "[x]" and a space'),
        ("- [ ] A (priority: high)\n",
         '1: task "A": priority must be a whole number, not "high"'),
        ("- [ ] A (estimate: 2 days)\n",
         '1: task "A": estimated_hours must be a number of hours, not "2 days"'),
        ("- [ ] A (key: )\n", '1: task "A": key must not be empty'),
        ("- [ ] A (after: )\n", '1: task "A": depends_on has an empty name'),
        ("- [ ] A\n- [ ] B (after: A,,)\n", '2: task "B": depends_on has an empty name'),
        ("- [ ] A (after: Z)\n", '1: task "A": depends on "Z", which does not exist'),
        ("- [ ] A (afer: B)\n- [ ] B\n",
         '1: task "A (afer: B)": (afer: ...) is not known; did you mean (after: ...)?'),
        ("- [ ] A (key: a) (key: b)\n",
         '1: task "A (key: a) (key: b)": (key: ...) is given twice'),
        ("1. [ ] A (after: B)\n2. [ ] B\n",
         '1: task "A": dependency cycle: "A" -> "B" -> "A"'),
        ("x\n" * 200_001, "1: the file has 200,002 lines; the most is 200,000"),
    ],
)  # fmt: skip
def test_faults_are_reported_at_their_line(text: str, problem: str) -> None:
    assert refused(text, "markdown") == [f"tasks.md:{problem}"]


def nested(levels: int) -> str:
    return "".join(f"{'  ' * depth}- [ ] L{depth}\n" for depth in range(levels))


def test_nesting_is_read_to_the_limit_and_refused_beyond() -> None:
    assert len(read(nested(25), "markdown")) == 25
    assert refused(nested(26), "markdown") == ["tasks.md:26: nested more than 25 levels deep"]


def test_ten_thousand_tasks_are_the_most() -> None:
    text = "".join(f"- [ ] T{n}\n" for n in range(10_000))
    assert len(read(text, "markdown")) == 10_000
    assert refused(text + "- [ ] last\n", "markdown") == [
        "tasks.md:10001: more than 10,000 tasks in one file"
    ]
