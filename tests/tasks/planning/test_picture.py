import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.planning import picture
from tasks.planning.graph import CycleError
from tasks.planning.picture import HEIGHT, WIDTH, Edge, Picture, lay_out


def acyclic(most: int) -> st.SearchStrategy[tuple[int, list[Edge]]]:
    def edges(count: int) -> st.SearchStrategy[tuple[int, list[Edge]]]:
        pair = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
        forward = st.lists(pair.filter(lambda p: p[0] < p[1]), unique=True, max_size=3 * count)
        return st.tuples(st.just(count), forward if count > 1 else st.just([]))

    return st.integers(1, most).flatmap(edges)


def many(count: int, edges_each: int, reach: int) -> list[Edge]:
    chance = random.Random(1)
    return sorted(
        {
            (chance.randint(max(0, node - reach), node - 1), node)
            for node in range(1, count)
            for _ in range(chance.randint(0, edges_each))
        }
    )


def check(drawn: Picture, count: int, edges: list[Edge]) -> None:
    assert len(drawn.spots) == count
    for x, y in drawn.spots:
        assert 0 <= x <= drawn.width - WIDTH
        assert 0 <= y <= drawn.height - HEIGHT
    for first, then in edges:
        assert drawn.spots[first][0] + WIDTH < drawn.spots[then][0]
    ordered = sorted(drawn.spots)
    for index, (x, y) in enumerate(ordered):
        for other_x, other_y in ordered[index + 1 :]:
            if other_x >= x + WIDTH:
                break
            assert abs(other_y - y) >= HEIGHT, "two boxes lie on each other"


@settings(max_examples=60, deadline=None)
@given(acyclic(25))
def test_boxes_never_overlap_and_lines_lead_to_the_right(graph: tuple[int, list[Edge]]) -> None:
    count, edges = graph
    check(lay_out(count, edges), count, edges)


def test_200_tasks_take_less_than_a_third_of_a_second() -> None:
    edges = many(200, 3, 200)
    began = time.process_time()
    drawn = lay_out(200, edges)
    assert time.process_time() - began < 0.3
    check(drawn, 200, edges)


def test_2000_tasks_take_seconds_also_when_lines_cross_the_whole_picture() -> None:
    for edges in (many(2000, 3, 50), many(2000, 10, 2000)):
        began = time.process_time()
        drawn = lay_out(2000, edges)
        assert time.process_time() - began < 10
        check(drawn, 2000, edges)


def test_long_lines_are_drawn_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "MOST_SPAN", 3)
    edges = many(50, 3, 50)
    check(lay_out(50, edges), 50, edges)


@pytest.mark.parametrize("count", [0, 1, 7, 500])
def test_tasks_without_dependencies_are_set_in_rows(count: int) -> None:
    check(lay_out(count, []), count, [])


def test_a_chain_and_a_star_are_no_trouble() -> None:
    check(lay_out(2000, [(n, n + 1) for n in range(1999)]), 2000, [])
    check(lay_out(2000, [(0, n) for n in range(1, 2000)]), 2000, [])


def test_a_cycle_is_refused() -> None:
    with pytest.raises(CycleError):
        lay_out(3, [(0, 1), (1, 2), (2, 0)])
