"""Names in depends_on: keys, titles, tasks outside the file, and every way to go wrong."""

import json
import time

from tests.tasks.planning.importing.reading import read, refused


def test_tasks_are_named_by_key_or_title_before_or_after_they_appear() -> None:
    drafts = read("""\
        - title: Ship
          depends_on: [build, Write the notes]
        - title: Build it
          key: build
        - title: Write the notes
          depends_on: [build, Build it]
        """)
    assert [draft.depends_on for draft in drafts] == [(1, 2), (), (1,)]


def test_tasks_outside_the_file_are_given_by_their_ids_once_each() -> None:
    known = {"Old": 71, "old-key": 71, "Other": 72}
    drafts = read("- title: A\n  depends_on: [Other, Old, old-key, B]\n- title: B\n", known=known)
    assert drafts[0].depends_on == (1,)
    assert drafts[0].depends_on_known == (72, 71)


def test_the_files_own_names_come_before_those_outside() -> None:
    drafts = read("- title: A\n  depends_on: [B]\n- title: B\n", known={"B": 5})
    assert (drafts[0].depends_on, drafts[0].depends_on_known) == ((1,), ())


def test_an_unknown_name_is_refused_at_its_own_line_with_the_nearest_one() -> None:
    assert refused(
        """\
        - title: Set up the database
        - title: B
          depends_on:
            - B2
            - Setup the databse
            - Olde one
        """,
        known={"Old one": 5},
    ) == [
        'tasks.yaml:4: task "B": depends on "B2", which does not exist',
        'tasks.yaml:5: task "B": depends on "Setup the databse", which does not exist;'
        ' did you mean "Set up the database"?',
        'tasks.yaml:6: task "B": depends on "Olde one", which does not exist;'
        ' did you mean "Old one"?',
    ]


def test_a_task_cannot_depend_on_itself_by_either_name() -> None:
    assert refused("- title: A\n  key: a\n  depends_on:\n    - A\n    - a\n") == [
        'tasks.yaml:4: task "A": depends on itself',
        'tasks.yaml:5: task "A": depends on itself',
    ]


def test_titles_and_keys_are_unique_in_the_file() -> None:
    assert refused("- title: A\n  key: k\n- title: A\n- title: B\n  key: k\n") == [
        'tasks.yaml:3: task "A": title "A" is used twice, first on line 1',
        'tasks.yaml:5: task "B": key "k" is used twice, first on line 2',
    ]


def test_a_name_that_is_one_tasks_key_and_anothers_title_is_ambiguous() -> None:
    assert refused("- title: A\n  key: B\n- title: B\n- title: C\n  depends_on: [B]\n") == [
        'tasks.yaml:5: task "C": ambiguous: the key of the task on line 1, the title on line 3'
    ]


def test_a_title_that_is_also_its_own_key_is_not_ambiguous() -> None:
    assert read("- title: A\n  key: A\n- title: B\n  depends_on: [A]\n")[1].depends_on == (0,)


def test_a_cycle_is_shown_by_its_titles() -> None:
    assert refused("""\
        - title: A
          depends_on: [B]
        - title: B
          depends_on: [C]
        - title: C
          depends_on: [A]
        """) == ['tasks.yaml:1: task "A": dependency cycle: "A" -> "B" -> "C" -> "A"']


def test_separate_cycles_are_all_shown() -> None:
    lines = refused("""\
        - {title: A, depends_on: [B]}
        - {title: B, depends_on: [A]}
        - {title: C, depends_on: [D]}
        - {title: D, depends_on: [C]}
        """)
    assert [line.split(": ", 3)[3] for line in lines] == ['"A" -> "B" -> "A"', '"C" -> "D" -> "C"']


def test_a_child_that_depends_on_its_parent_is_a_cycle() -> None:
    assert refused("- title: P\n  children:\n    - title: C\n      depends_on: [P]\n") == [
        'tasks.yaml:1: task "P": dependency cycle: "P" -> "C" -> "P"'
    ]


def test_a_long_cycle_is_shown_in_short() -> None:
    tasks = [{"title": f"t{n}", "depends_on": [f"t{(n + 1) % 5_000}"]} for n in range(5_000)]
    (problem,) = refused(json.dumps(tasks), "json")
    assert problem.endswith('"t5" -> "t6" -> (4,993 more) -> "t0"')


def test_a_chain_of_ten_thousand_in_worst_order_is_read_in_reasonable_time() -> None:
    tasks = [{"title": f"t{n}", "depends_on": [f"t{n + 1}"]} for n in range(9_999)]
    start = time.process_time()
    drafts = read(json.dumps([*tasks, {"title": "t9999"}]), "json")
    assert time.process_time() - start < 5
    assert drafts[0].depends_on == (1,)


def test_ten_thousand_wrong_names_do_not_take_for_ever() -> None:
    tasks = [{"title": f"Task {n}", "depends_on": [f"Tusk {n}"]} for n in range(10_000)]
    start = time.process_time()
    lines = refused(json.dumps(tasks), "json")
    assert time.process_time() - start < 15
    assert lines[-1].endswith("and 9000 more problems")


def test_a_hundred_thousand_dependencies_are_the_most() -> None:
    tasks = [{"title": f"t{n}", "depends_on": ["x"] * 11} for n in range(9_999)]
    (problem,) = refused(json.dumps([*tasks, {"title": "x"}]), "json")
    assert problem.endswith("more than 100,000 dependencies in one file")
