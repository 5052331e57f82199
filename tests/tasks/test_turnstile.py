"""Few at work at once; nobody is forgotten, and who waits lets others."""

import threading
from collections.abc import Callable

from tasks.turnstile import Turnstile, aside

PATIENCE_S = 30


class Worker:
    """A thread that goes in, and out when it is told; `during` is what it does meanwhile."""

    def __init__(self, turnstile: Turnstile, during: Callable[[], None] = lambda: None) -> None:
        self.inside = threading.Event()
        self.go = threading.Event()
        self._turnstile = turnstile
        self._during = during
        self.begin = self._begin
        turnstile.come(self.begin)

    def _begin(self) -> None:
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        with self._turnstile.inside():
            self.inside.set()
            self._during()
            assert self.go.wait(PATIENCE_S)

    def is_in(self) -> bool:
        return self.inside.wait(PATIENCE_S)

    def end(self) -> None:
        self.go.set()
        self.thread.join(PATIENCE_S)


def test_one_more_than_there_are_places_begins_when_another_has_left() -> None:
    turnstile = Turnstile(2)
    first, second, third = (Worker(turnstile) for _ in range(3))
    assert first.is_in()
    assert second.is_in()
    assert not third.inside.is_set()
    first.end()
    assert third.is_in()
    second.end()
    third.end()


def test_they_begin_in_the_order_in_which_they_came() -> None:
    turnstile = Turnstile(1)
    workers = [Worker(turnstile) for _ in range(5)]
    for place, worker in enumerate(workers):
        assert worker.is_in()
        assert not any(later.inside.is_set() for later in workers[place + 1 :])
        worker.end()


def test_who_waits_for_something_lets_another_in_and_comes_back() -> None:
    turnstile = Turnstile(1)
    done = threading.Event()

    def wait() -> None:
        with aside():
            assert done.wait(PATIENCE_S)

    waiting = Worker(turnstile, wait)
    other = Worker(turnstile)
    assert other.is_in()
    done.set()
    third = Worker(turnstile)
    waiting.end()
    assert not third.inside.is_set(), "the other is still at work"
    other.end()
    assert third.is_in()
    third.end()


def test_an_error_inside_gives_the_place_back() -> None:
    turnstile = Turnstile(1)

    def fail() -> None:
        with turnstile.inside():
            raise ValueError

    caught = threading.Event()

    def run() -> None:
        try:
            fail()
        except ValueError:
            caught.set()

    turnstile.come(lambda: threading.Thread(target=run).start())
    assert caught.wait(PATIENCE_S)
    after = Worker(turnstile)
    assert after.is_in()
    after.end()


def test_who_has_waited_long_enough_begins_all_the_same_and_once() -> None:
    turnstile = Turnstile(1)
    stuck, impatient = Worker(turnstile), Worker(turnstile)
    assert stuck.is_in()
    turnstile.hurry(impatient.begin)
    turnstile.hurry(impatient.begin)
    assert impatient.is_in()
    last = Worker(turnstile)
    stuck.end()
    assert not last.inside.is_set(), "the impatient one is still at work"
    impatient.end()
    assert last.is_in()
    last.end()


def test_in_a_thread_that_went_through_nothing_waiting_is_just_waiting() -> None:
    with aside():
        pass
