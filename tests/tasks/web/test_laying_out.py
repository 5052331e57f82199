import threading
from collections.abc import Sequence

import pytest

from tasks.planning.picture import Edge, Picture
from tasks.web import laying_out
from tasks.web.laying_out import picture_of

ANY = Picture(width=1, height=1, spots=())


def test_a_picture_is_laid_out_once_for_the_same_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Sequence[Edge]] = []

    def note(count: int, edges: Sequence[Edge]) -> Picture:
        asked.append(edges)
        return ANY

    monkeypatch.setattr(laying_out, "lay_out", note)
    for edges in ([(0, 90001)], [(0, 90001)], [(1, 90001)]):
        assert picture_of(90_002, edges) is ANY
    assert asked == [((0, 90001),), ((1, 90001),)]


def test_who_asks_is_not_held_up_by_a_slow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    done = threading.Event()

    def slow(count: int, edges: Sequence[Edge]) -> Picture:
        done.wait(30)
        return ANY

    monkeypatch.setattr(laying_out, "lay_out", slow)
    monkeypatch.setattr(laying_out, "PATIENCE_S", 0.01)
    assert picture_of(90_003, []) is None
    assert picture_of(90_003, []) is None
    done.set()
    monkeypatch.setattr(laying_out, "PATIENCE_S", 30)
    assert picture_of(90_003, []) is ANY


def test_only_so_many_are_kept() -> None:
    for count in range(laying_out.KEPT + 10):
        picture_of(count, [])
    assert len(laying_out._pictures) == laying_out.KEPT
