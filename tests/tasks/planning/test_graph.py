"""Cycles, waves, chains and the ready set, against brute force and at 10,000 tasks."""

import itertools
import random
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.planning.graph import (
    CycleError,
    Place,
    ReadySet,
    find_cycle,
    longest_chain,
    waves,
    would_close_cycle,
)
from tests.tasks.planning.support import unhurried

Edges = dict[int, list[int]]
MANY = 10_000
# Seconds of CPU; some ten times what a slow machine needs, and far below what O(V * E) takes.
LIMIT = 1.5


@st.composite
def any_graphs(draw: st.DrawFn) -> Edges:
    size = draw(st.integers(0, 9))
    nodes = st.integers(0, max(0, size - 1))
    return {node: draw(st.lists(nodes, max_size=4)) for node in range(size)}


@st.composite
def acyclic_graphs(draw: st.DrawFn) -> Edges:
    order = draw(st.permutations(range(draw(st.integers(0, 12)))))
    edges = {
        node: draw(st.lists(st.sampled_from(order[:index]), max_size=4)) if index else []
        for index, node in enumerate(order)
    }
    return {node: edges[node] for node in draw(st.permutations(order))}


def reachable(edges: Edges, start: int) -> set[int]:
    """By repeated widening, as unlike the code under test as can be."""
    found: set[int] = set(edges[start])
    while True:
        wider = found | {far for near in found for far in edges[near]}
        if wider == found:
            return found
        found = wider


def chain_in_worst_order() -> Edges:
    return {node: [node + 1] if node < MANY - 1 else [] for node in range(MANY)}


def random_three_each() -> Edges:
    dice = random.Random(7)
    edges = {node: [dice.randrange(node) for _ in range(3)] if node else [] for node in range(MANY)}
    shuffled = list(edges)
    dice.shuffle(shuffled)
    return {node: edges[node] for node in shuffled}


def star() -> Edges:
    return {0: [], **{node: [0] for node in range(1, MANY)}, MANY: list(range(1, MANY))}


LARGE = [chain_in_worst_order, random_three_each, star]


def drained(ready: ReadySet[int]) -> list[int]:
    order = []
    while (node := ready.pop()) is not None:
        order.append(node)
        ready.complete(node)
    return order


class TestFindCycle:
    def test_a_cycle_comes_back_as_a_closed_path(self) -> None:
        assert find_cycle({"a": ["b"], "b": ["a"]}) == ["a", "b", "a"]

    def test_a_self_dependency_is_the_shortest_cycle(self) -> None:
        assert find_cycle({"a": ["a"]}) == ["a", "a"]

    def test_tasks_that_only_lead_to_the_cycle_are_not_in_the_path(self) -> None:
        assert find_cycle({"x": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]}) == ["a", "b", "c", "a"]

    def test_dependencies_outside_the_graph_are_ignored(self) -> None:
        assert find_cycle({"a": ["elsewhere"]}) is None

    @unhurried
    @given(any_graphs())
    def test_it_finds_a_true_cycle_exactly_when_there_is_one(self, edges: Edges) -> None:
        cycle = find_cycle(edges)
        assert (cycle is not None) == any(node in reachable(edges, node) for node in edges)
        if cycle is not None:
            assert cycle[0] == cycle[-1]
            assert len(set(cycle)) == len(cycle) - 1
            assert all(b in edges[a] for a, b in itertools.pairwise(cycle))


class TestWouldCloseCycle:
    def test_the_path_shown_goes_through_the_new_dependency(self) -> None:
        edges = {"a": ["b"], "b": ["c"], "c": []}
        assert would_close_cycle(edges, "c", "a") == ["c", "a", "b", "c"]

    def test_depending_on_oneself_closes_a_cycle(self) -> None:
        assert would_close_cycle({"a": []}, "a", "a") == ["a", "a"]

    def test_a_harmless_dependency_is_let_through(self) -> None:
        assert would_close_cycle({"a": ["b"], "b": [], "c": []}, "b", "c") is None

    @unhurried
    @given(acyclic_graphs(), st.data())
    def test_it_agrees_with_adding_the_edge_and_looking(
        self, edges: Edges, data: st.DataObject
    ) -> None:
        if not edges:
            return
        task = data.draw(st.sampled_from(sorted(edges)))
        dependency = data.draw(st.sampled_from(sorted(edges)))
        added = {**edges, task: [*edges[task], dependency]}
        path = would_close_cycle(edges, task, dependency)
        assert (path is not None) == (find_cycle(added) is not None)
        if path is not None:
            assert path[:2] == [task, dependency]
            assert path[-1] == task
            assert all(b in added[a] for a, b in itertools.pairwise(path))


class TestWaves:
    def test_each_wave_keeps_the_order_given(self) -> None:
        assert waves({3: [], 1: [2], 2: [], 4: [1, 3]}) == [[3, 2], [1], [4]]
        assert waves({"x": ["b"], "y": ["a"], "a": [], "b": []}) == [["a", "b"], ["x", "y"]]

    def test_a_cycle_is_refused_with_its_path(self) -> None:
        with pytest.raises(CycleError) as refused:
            waves({"a": [], "b": ["c"], "c": ["d", "a"], "d": ["b"]})
        assert refused.value.path in (
            ["b", "c", "d", "b"],
            ["c", "d", "b", "c"],
            ["d", "b", "c", "d"],
        )

    @unhurried
    @given(acyclic_graphs())
    def test_the_wave_of_a_task_is_its_longest_way_down(self, edges: Edges) -> None:
        def depth(node: int) -> int:
            return max((depth(dependency) + 1 for dependency in edges[node]), default=0)

        levels = waves(edges)
        assert sorted(node for level in levels for node in level) == sorted(edges)
        assert all(depth(node) == index for index, level in enumerate(levels) for node in level)


class TestLongestChain:
    def test_weights_decide_not_the_number_of_tasks(self) -> None:
        edges = {"long": [], "a": [], "b": ["a"], "end": ["b", "long"]}
        hours = {"long": 9.0, "a": 1.0, "b": 1.0, "end": 0.5}
        assert longest_chain(edges, hours.__getitem__) == (9.5, ["long", "end"])

    def test_nothing_has_no_length(self) -> None:
        assert longest_chain({}, lambda _: 1.0) == (0, [])

    def test_a_cycle_is_refused(self) -> None:
        with pytest.raises(CycleError):
            longest_chain({"a": ["a"]}, lambda _: 1.0)

    @unhurried
    @given(acyclic_graphs(), st.lists(st.integers(0, 9), min_size=12, max_size=12))
    def test_no_other_chain_is_longer(self, edges: Edges, weights: list[int]) -> None:
        def best(node: int) -> int:
            return weights[node] + max((best(below) for below in edges[node]), default=0)

        length, path = longest_chain(edges, weights.__getitem__)
        assert length == max((best(node) for node in edges), default=0)
        assert length == sum(weights[node] for node in path)
        assert all(a in edges[b] for a, b in itertools.pairwise(path))


class TestReadySet:
    def test_ready_tasks_come_lowest_key_first_and_ties_in_the_order_given(self) -> None:
        priority = {"x": 1, "b": 0, "a": 0, "c": 2}
        ready = ReadySet({name: [] for name in priority}, sort_key=priority.__getitem__)
        assert [ready.pop() for _ in range(5)] == ["b", "a", "x", "c", None]

    def test_a_ready_task_does_not_wait_for_strangers_of_an_earlier_wave(self) -> None:
        ready = ReadySet({"quick": [], "slow": [], "next": ["quick"]}, sort_key=str)
        assert {ready.pop(), ready.pop()} == {"quick", "slow"}
        assert ready.complete("quick") == ["next"]
        assert ready.pop() == "next"

    def test_a_failure_skips_all_that_hang_on_it_once_and_nothing_else(self) -> None:
        edges = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "other": []}
        ready = ReadySet(edges, sort_key=str)
        assert ready.pop() == "a"
        assert ready.fail("a") == ["b", "c", "d"]
        assert ready.pop() == "other"
        assert ready.complete("other") == []
        assert ready.finished

    def test_a_task_skipped_by_one_failure_is_not_reported_by_the_next(self) -> None:
        ready = ReadySet({"a": [], "b": [], "c": ["a", "b"]}, sort_key=str)
        ready.pop(), ready.pop()
        assert ready.fail("a") == ["c"]
        assert ready.fail("b") == []

    def test_a_completion_does_not_revive_a_skipped_task(self) -> None:
        ready = ReadySet({"a": [], "b": [], "c": ["a", "b"]}, sort_key=str)
        ready.pop(), ready.pop()
        ready.fail("a")
        assert ready.complete("b") == []
        assert ready.place("c") is Place.SKIPPED

    def test_a_requeued_task_is_handed_out_again_in_its_order(self) -> None:
        ready = ReadySet({"a": [], "b": []}, sort_key=str)
        assert ready.pop() == "a"
        ready.requeue("a")
        assert [ready.pop(), ready.pop(), ready.pop()] == ["a", "b", None]

    def test_a_task_failed_while_ready_is_never_handed_out(self) -> None:
        ready = ReadySet({"a": [], "b": ["a"], "c": []}, sort_key=str)
        assert ready.fail("a") == ["b"]
        assert [ready.pop(), ready.pop()] == ["c", None]

    def test_a_task_failed_while_waiting_stays_failed_when_its_dependency_is_done(self) -> None:
        ready = ReadySet({"a": [], "b": ["a"], "c": ["b"]}, sort_key=str)
        assert ready.fail("b") == ["c"]
        ready.pop()
        assert ready.complete("a") == []
        assert ready.place("b") is Place.FAILED
        assert ready.finished

    def test_a_task_completed_while_ready_frees_its_dependents(self) -> None:
        ready = ReadySet({"a": [], "b": ["a"]}, sort_key=str)
        assert ready.complete("a") == ["b"]
        assert [ready.pop(), ready.pop()] == ["b", None]

    @pytest.mark.parametrize("move", ["complete", "requeue", "fail"])
    def test_a_settled_task_cannot_be_moved_again(self, move: str) -> None:
        ready = ReadySet({"a": []}, sort_key=str)
        ready.pop()
        ready.complete("a")
        with pytest.raises(ValueError, match="a is done"):
            getattr(ready, move)("a")

    def test_a_cycle_is_refused_at_once_with_its_path_from_task_to_dependency(self) -> None:
        with pytest.raises(CycleError) as refused:
            ReadySet({"a": ["b"], "b": ["c"], "c": ["a"]}, sort_key=str)
        assert refused.value.path[:-1] in (["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"])

    def test_dependencies_outside_the_set_do_not_hold_a_task(self) -> None:
        assert ReadySet({"a": ["done long ago"]}, sort_key=str).pop() == "a"

    @unhurried
    @given(acyclic_graphs(), st.data())
    def test_any_run_agrees_with_a_brute_force_model(
        self, edges: Edges, data: st.DataObject
    ) -> None:
        ready = ReadySet(edges, sort_key=lambda node: (node % 3, node))
        done: set[int] = set()
        failed: set[int] = set()
        running: set[int] = set()
        skipped: set[int] = set()
        while True:
            settled = done | failed | running | skipped
            could_start = sorted(
                (node for node in edges if node not in settled and set(edges[node]) <= done),
                key=lambda node: (node % 3, node),
            )
            assert (ready.ready, ready.running) == (len(could_start), len(running))
            assert ready.waiting == len(edges) - len(settled) - len(could_start)
            moves = ["pop"] * bool(could_start) + ["complete", "fail", "requeue"] * bool(running)
            if not moves:
                break
            move = data.draw(st.sampled_from(moves))
            if move == "pop":
                popped = ready.pop()
                assert popped == could_start[0]
                running.add(popped)
                continue
            node = data.draw(st.sampled_from(sorted(running)))
            running.remove(node)
            if move == "requeue":
                ready.requeue(node)
            elif move == "complete":
                done.add(node)
                freed = ready.complete(node)
                assert len(freed) == len(set(freed))
                assert set(freed) == {
                    waiter
                    for waiter in edges
                    if node in edges[waiter] and set(edges[waiter]) <= done
                }
            else:
                failed.add(node)
                newly = ready.fail(node)
                assert len(newly) == len(set(newly))
                expected = {other for other in edges if node in reachable(edges, other)} - skipped
                assert set(newly) == expected
                skipped |= expected
        assert ready.pop() is None
        assert ready.finished
        assert done | failed | skipped == set(edges)


class TestTenThousandTasks:
    @pytest.mark.parametrize("shape", LARGE)
    def test_every_task_runs_after_its_dependencies(self, shape: Callable[[], Edges]) -> None:
        edges = shape()
        start = time.process_time()
        order = drained(ReadySet(edges, sort_key=lambda node: (0, node)))
        spent = time.process_time() - start
        position = {node: index for index, node in enumerate(order)}
        assert len(position) == len(edges)
        assert all(position[b] < position[a] for a in edges for b in edges[a])
        assert spent < LIMIT

    @pytest.mark.parametrize("shape", LARGE)
    def test_planning_views_are_quick(self, shape: Callable[[], Edges]) -> None:
        edges = shape()
        start = time.process_time()
        assert find_cycle(edges) is None
        assert sum(map(len, waves(edges))) == len(edges)
        length, path = longest_chain(edges, lambda _: 1.0)
        assert length == len(path)
        assert time.process_time() - start < LIMIT

    def test_one_failure_skips_the_whole_chain(self) -> None:
        ready = ReadySet(chain_in_worst_order(), sort_key=lambda node: node)
        first = ready.pop()
        assert first == MANY - 1
        start = time.process_time()
        assert len(ready.fail(first)) == MANY - 1
        assert time.process_time() - start < LIMIT

    def test_failing_every_task_of_a_star_stays_linear(self) -> None:
        ready = ReadySet(star(), sort_key=lambda node: node)
        ready.complete(0)
        start = time.process_time()
        skipped = [len(ready.fail(node)) for node in range(1, MANY)]
        assert sum(skipped) == skipped[0] == 1
        assert time.process_time() - start < LIMIT
