"""JSON files: never read as YAML, and with a line for every fault."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.planning.importing import ImportErrors
from tasks.planning.importing.json_file import read_json
from tasks.planning.importing.problems import Problems
from tasks.planning.importing.source import Source
from tasks.planning.importing.tree import Node
from tests.tasks.planning.importing.reading import read, refused
from tests.tasks.planning.support import unhurried

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


def plain(node: Node | None) -> object:
    if node is None:
        return None
    if isinstance(node.value, list):
        return [plain(item) for item in node.value]
    if isinstance(node.value, dict):
        return {name: plain(member) for name, member in node.value.items()}
    return node.value


@unhurried
@given(VALUES, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_it_reads_what_the_standard_reader_reads(
    value: object, indent: int | str | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert plain(read_json(Source(text), Problems("x"))) == value


@unhurried
@given(st.text(st.sampled_from('[]{}:,"\\ \n\t01.eE+-truefalsn'), max_size=12))
def test_it_refuses_what_the_standard_reader_refuses(text: str) -> None:
    def accepted() -> bool:
        try:
            json.loads(text)
        except ValueError:
            return False
        return True

    try:
        value = read_json(Source(text), Problems("x"))
    except ImportErrors:
        # A field named twice is noted, not thrown, so throwing means a syntax error.
        assert not accepted()
    else:
        assert accepted() or (value is None and not text.strip())


def test_tabs_are_as_good_as_spaces() -> None:
    assert read('[\n\t{"title":\t"A"}\n]', "json")[0].title == "A"


def test_a_mapping_with_tasks_and_children_is_read_as_in_yaml() -> None:
    text = '{"tasks": [{"title": "P", "children": [{"title": "C", "expects_changes": false}]}]}'
    parent, child = read(text, "json")
    assert (parent.depends_on, child.parent, child.expects_changes) == ((1,), 0, False)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1: no tasks found: the file is empty"),
        ("null", "1: no tasks found: the file is empty"),
        ("[]", "1: no tasks found: the list is empty"),
        ('[\n{"title": "A"},\n]', '3:1: not JSON: expected a value, found "]"'),
        ('[{"title": "A",\n}]',
         '2:1: not JSON: expected a field name in double quotes, found "}"'),
        ('[{"title" "A"}]', '1:11: not JSON: expected ":", found "\\"A\\""'.replace("\\", "")),
        ("[{\n'title': 'A'}]", """2:1: not JSON: unexpected "'\""""),
        ('[{"title": "A"}\n{"title": "B"}]', '2:1: not JSON: expected "," or "]", found "{"'),
        ('[{"title": "A"}]\n]', '2:1: not JSON: expected the end of the file, found "]"'),
        ('[{"title": "A"}', '1:16: not JSON: expected "," or "]", found the end of the file'),
        ('[{"title":\n"A\n"}]', "2:1: not JSON: a text must end on the line it begins on"),
        ('[{"title":\n"A\\q"}]', "2:3: not JSON: Invalid \\escape"),
        ('[{"title": "A",\n"estimated_hours": NaN}]', '2:20: not JSON: unexpected "NaN"'),
        ('[{"title": "A",\n"priority": 01}]', '2:13: not JSON: unexpected "01"'),
        ('[{"title": "A",\n"priority": ٣}]', '2:13: not JSON: unexpected "٣"'),
        ("- title: A\n", '1:1: not JSON: unexpected "-"'),
        ("[" * 100_000, "1:65: nested more than 64 levels deep"),
    ],
)  # fmt: skip
def test_faults_are_reported_at_their_line_and_column(text: str, problem: str) -> None:
    assert refused(text, "json") == [f"tasks.json:{problem}"]


def test_every_field_has_its_own_line() -> None:
    text = """\
        [
          {
            "title": "A\\ud800",
            "priority": true
          },
          {"title": "B",
           "depends_on": [
             "C"
           ],
           "estimated_hours": 1e999
          }
        ]
        """
    assert refused(text, "json") == [
        'tasks.json:3: task "A\\ud800": title must not contain the character U+D800',
        'tasks.json:4: task "A\\ud800": priority must be a whole number, not true',
        'tasks.json:8: task "B": depends on "C", which does not exist',
        'tasks.json:10: task "B": estimated_hours must be from 0 to 100,000 hours, not inf',
    ]
