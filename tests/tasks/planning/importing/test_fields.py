"""Each field: what it takes, and what it says of the rest."""

import json

import pytest

from tests.tasks.planning.importing.reading import read, refused

HUGE = 10**400


def with_field(name: str, value: object) -> str:
    return json.dumps([{"title": "A", name: value}])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("title", "x" * 500),
        ("title", "  padded  "),
        ("key", "k" * 100),
        ("description", "tabs\tand\nlines"),
        ("priority", 0),
        ("priority", 2_147_483_647),
        ("estimated_hours", 0),
        ("estimated_hours", 0.25),
        ("complexity_score", 1),
        ("complexity_score", 5),
        ("uncertainty_level", "medium"),
        ("requirement_ids", []),
        ("github_issue_number", 1),
        ("external_url", "http://[::1]:8000/x"),
    ],
)
def test_values_within_the_limits_are_taken(name: str, value: object) -> None:
    taken = getattr(read(with_field(name, value), "json")[0], name)
    wanted = value.strip() if isinstance(value, str) else value
    assert taken == (tuple(wanted) if isinstance(wanted, list) else wanted)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("title", "", "title must not be empty"),
        ("title", " \u200b ", "title must not be empty"),
        ("title", "x" * 501, "title has 501 characters; the most is 500"),
        ("title", "a\nb", "title must not contain the character U+000A"),
        ("title", "a\u2028b", "title must not contain the character U+2028"),
        ("title", "a\tb", "title must not contain the character U+0009"),
        ("title", ["a"], "title must be text, not a list"),
        ("title", True, "title must be text, not true; put it in quotes"),
        ("key", "k" * 101, "key has 101 characters; the most is 100"),
        ("key", 7, "key must be text, not 7; put it in quotes"),
        ("description", {"a": 1}, "description must be text, not a mapping"),
        ("description", "a\rb", "description must not contain the character U+000D"),
        ("description", "a\udfff", "description must not contain the character U+DFFF"),
        ("depends_on", "B", 'depends_on must be a list of titles or keys, not "B"'),
        ("depends_on", [3], "depends_on entry must be text, not 3; put it in quotes"),
        ("depends_on", [None], "depends_on entry must be text, not nothing"),
        ("priority", -1, "priority must be from 0 to 2147483647, not -1"),
        ("priority", 1.0, "priority must be a whole number, not 1.0"),
        ("priority", "1", 'priority must be a whole number, not "1"'),
        ("priority", False, "priority must be a whole number, not false"),
        ("estimated_hours", -0.5, "estimated_hours must be from 0 to 100,000 hours, not -0.5"),
        ("estimated_hours", True, "estimated_hours must be a number of hours, not true"),
        ("estimated_hours", "3h", 'estimated_hours must be a number of hours, not "3h"'),
        ("complexity_score", 0, "complexity_score must be from 1 to 5, not 0"),
        ("complexity_score", 6, "complexity_score must be from 1 to 5, not 6"),
        ("complexity_score", 2.5, "complexity_score must be a whole number, not 2.5"),
        ("uncertainty_level", "High",
         'uncertainty_level must be one of low, medium, high, not "High"'),
        ("uncertainty_level", 1, "uncertainty_level must be one of low, medium, high, not 1"),
        ("requirement_ids", "REQ-1", 'requirement_ids must be a list of ids, not "REQ-1"'),
        ("requirement_ids", ["a"] * 101, "requirement_ids has 101 entries; the most is 100"),
        ("github_issue_number", 0, "github_issue_number must be from 1 to 2147483647, not 0"),
        ("external_url", "example.org",
         'external_url must be a web address (http or https), not "example.org"'),
        ("external_url", "javascript:alert(1)",
         'external_url must be a web address (http or https), not "javascript:alert(1)"'),
        ("external_url", "javascript://example.org/%0aalert(1)",
         'external_url must be a web address (http or https), '
         'not "javascript://example.org/%0aalert(1)"'),
        ("external_url", "http://[", 'external_url must be a web address (http or https), '
         'not "http://["'),
        ("expects_changes", "no", 'expects_changes must be true or false, not "no"'),
        ("expects_changes", 0, "expects_changes must be true or false, not 0"),
        ("done", 1, "done must be true or false, not 1"),
    ],
)  # fmt: skip
def test_values_beyond_the_limits_are_refused(name: str, value: object, message: str) -> None:
    (problem,) = refused(with_field(name, value), "json")
    assert problem.endswith(f": {message}")


@pytest.mark.parametrize("name", ["priority", "estimated_hours", "github_issue_number"])
@pytest.mark.parametrize("digits", [f"{HUGE}", f"-{HUGE}", "9" * 100_000])
def test_numbers_too_large_to_mean_anything_are_refused(name: str, digits: str) -> None:
    for text, format in (
        (f'[{{"title": "A", "{name}": {digits}}}]', "json"),
        (f"- title: A\n  {name}: {digits}\n", "yaml"),
    ):
        (problem,) = refused(text, format)  # type: ignore[arg-type]
        assert f"{name} must be from " in problem


@pytest.mark.parametrize("word", [".nan", ".inf", "-.inf", "1e999"])
def test_hours_are_finite(word: str) -> None:
    (problem,) = refused(f"- title: A\n  estimated_hours: {word}\n")
    assert "estimated_hours must be from 0 to 100,000 hours" in problem


def test_an_unknown_field_is_named_with_the_nearest_known_one() -> None:
    assert refused("- title: A\n  prioritiy: 1\n  dependson: [B]\n  childern: []\n") == [
        'tasks.yaml:2: task "A": unknown field "prioritiy"; did you mean "priority"?',
        'tasks.yaml:3: task "A": unknown field "dependson"; did you mean "depends_on"?',
        'tasks.yaml:4: task "A": unknown field "childern"; did you mean "children"?',
    ]


def test_an_unknown_field_keeps_the_spelling_of_the_file() -> None:
    assert '"1.50"' in refused("- title: A\n  1.50: x\n")[0]


def test_a_wrong_entry_of_a_list_is_reported_at_its_own_line() -> None:
    assert refused("- title: A\n  requirement_ids:\n    - R1\n    - 2\n") == [
        'tasks.yaml:4: task "A": requirement_ids entry must be text, not 2; put it in quotes'
    ]


def test_an_unknown_field_like_no_other_gets_the_list() -> None:
    (problem,) = refused("- title: A\n  zzz: 1\n")
    assert '"zzz"; the fields are title, key, description, depends_on, ' in problem


@pytest.mark.parametrize("text", ["- priority: 1\n", "- title:\n", "- title: ~\n", "- {}\n"])
def test_a_task_without_a_title_is_refused(text: str) -> None:
    assert refused(text) == ["tasks.yaml:1: task: title is missing"]


def test_all_problems_of_a_file_come_at_once_in_the_order_of_its_lines() -> None:
    assert refused("""\
        - title: A
          depends_on: [Nowhere]
          priority: -1
        - key: x
        - title: A
          colour: red
        """) == [
        'tasks.yaml:2: task "A": depends on "Nowhere", which does not exist',
        'tasks.yaml:3: task "A": priority must be from 0 to 2147483647, not -1',
        "tasks.yaml:4: task: title is missing",
        'tasks.yaml:5: task "A": title "A" is used twice, first on line 1',
        'tasks.yaml:6: task "A": unknown field "colour"; the fields are title, key, description, '
        "depends_on, priority, estimated_hours, complexity_score, uncertainty_level, "
        "requirement_ids, github_issue_number, external_url, expects_changes, done, children",
    ]


def test_a_thousand_problems_are_shown_and_the_rest_counted() -> None:
    lines = refused("".join(f"- title: T{n}\n  priority: -1\n" for n in range(1_500)))
    assert len(lines) == 1_001
    assert lines[-1].endswith(": and 500 more problems")


def test_a_message_never_breaks_its_line_and_cuts_long_titles() -> None:
    (problem,) = refused(json.dumps([{"title": "x" * 400, "priority": -1}]), "json")
    assert f'task "{"x" * 57}...": priority' in problem
