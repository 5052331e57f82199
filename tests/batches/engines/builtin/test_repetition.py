import json
from itertools import cycle, islice

import pytest

from batches.engines.builtin.conversation import Call
from batches.engines.builtin.repetition import STOP_AT, WARN_AT, Repetition
from tests.batches.engines.builtin.running import Place
from tests.fakes import model_server as fake


def call(name: str, **arguments: object) -> Call:
    return Call("id", name, json.dumps(arguments))


def rounds(*steps: tuple[Call, str]) -> list[int]:
    repetition = Repetition()
    return [repetition.add(*step) for step in steps]


READ = (call("read_file", path="a"), "text")


def test_the_same_call_with_the_same_result_is_counted() -> None:
    assert rounds(*[READ] * 5) == [1, 2, 3, 4, 5]


def test_paging_through_a_file_is_no_circle() -> None:
    pages = [
        (call("read_file", path="a", start_line=n, end_line=n + 99), "same") for n in range(50)
    ]
    assert set(rounds(*pages)) == {1}


def test_asking_for_what_changes_is_no_circle() -> None:
    assert set(rounds(*[(call("run_command", command="date"), str(n)) for n in range(50)])) == {1}


def test_testing_after_each_edit_is_no_circle() -> None:
    tests = (call("run_tests"), "1 failed")
    steps = [step for n in range(20) for step in ((call("edit_file", path="a", n=n), "ok"), tests)]
    assert max(rounds(*steps)) == 1


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_a_circle_of_several_calls_is_seen(length: int) -> None:
    circle = [(call("read_file", path=str(n)), "text") for n in range(length)]
    assert rounds(*islice(cycle(circle), length * STOP_AT))[-1] == STOP_AT


def test_the_order_of_arguments_makes_no_difference() -> None:
    one, other = Call("1", "x", '{"a": 1, "b": 2}'), Call("2", "x", '{"b":2,"a":1}')
    assert rounds((one, "r"), (other, "r")) == [1, 2]


def test_arguments_that_are_no_json_can_repeat_too() -> None:
    assert rounds(*[(Call("1", "x", "{broken \ud800"), "r")] * 3)[-1] == 3


def test_an_agent_in_a_circle_is_warned_and_then_stopped(place: Place) -> None:
    turn = fake.Turn("", [fake.Call("read_file", {"path": "nothing"})])
    with fake.model_server(scripts=[fake.Script([turn], last_repeats=True)]) as server:
        ran = place.run(server)
        assert len(server.requests) == STOP_AT
        said = [json.dumps(request.body["messages"][-1]) for request in server.requests]
    assert (ran.outcome.reason, ran.last_word) == ("loop", "loop")
    assert ["the same calls" in text for text in said] == [n >= WARN_AT for n in range(STOP_AT)]


def test_an_agent_that_pages_through_a_file_is_let_alone(place: Place) -> None:
    (place.tree / "long.txt").write_text("same\n" * 2_000)
    pages = [
        fake.Turn(
            "", [fake.Call("read_file", {"path": "long.txt", "start_line": n, "end_line": n + 99})]
        )
        for n in range(1, 1_000, 100)
    ]
    with fake.model_server(*pages, fake.Turn("Read it.")) as server:
        assert place.run(server).outcome.kind == "completed"
