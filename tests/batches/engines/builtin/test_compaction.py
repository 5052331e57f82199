import json

from hypothesis import given, settings
from hypothesis import strategies as st

from batches.engines.builtin.compaction import DROPPED, KEPT_PAIRS, compact
from batches.engines.builtin.conversation import (
    Call,
    Entry,
    Reply,
    Result,
    Results,
    User,
    size,
)
from tests.batches.engines.builtin.running import Place
from tests.fakes import model_server as fake


def pair(number: int, argument: int, result: int, calls: int = 1) -> list[Entry]:
    names = [f"{number}-{place}" for place in range(calls)]
    arguments = json.dumps({"content": "a" * argument})
    return [
        Reply("", tuple(Call(name, "create_file", arguments) for name in names), ({"type": "x"},)),
        Results(tuple(Result(name, "r" * result) for name in names)),
    ]


def conversation(pairs: int, argument: int = 1_000, result: int = 1_000) -> list[Entry]:
    entries: list[Entry] = [User("the task")]
    for number in range(pairs):
        entries += pair(number, argument, result)
    return entries


def is_whole(entries: list[Entry]) -> bool:
    """Every call has its result just behind it, and no result is without its call."""
    for place, entry in enumerate(entries):
        following = entries[place + 1] if place + 1 < len(entries) else None
        if isinstance(entry, Reply) and entry.calls:
            ids = [call.id for call in entry.calls]
            if not isinstance(following, Results) or [r.call_id for r in following.results] != ids:
                return False
        if isinstance(entry, Results) and not (place and isinstance(entries[place - 1], Reply)):
            return False
    return True


def test_what_fits_is_left_alone() -> None:
    entries = conversation(10)
    assert compact(entries, size(entries)) == entries


def test_old_results_go_first_and_the_newest_pairs_stay() -> None:
    entries = conversation(10)
    shorter = compact(entries, size(entries) - 3_000)
    assert shorter[-2 * KEPT_PAIRS :] == entries[-2 * KEPT_PAIRS :]
    assert "removed to save room" in str(shorter[2])
    assert shorter[1] == entries[1]


def test_then_the_arguments_of_old_calls_which_stay_json() -> None:
    shorter = compact(conversation(10), 11_500)
    reply = shorter[1]
    assert isinstance(reply, Reply)
    assert "characters were removed" in json.loads(reply.calls[0].arguments)["content"]
    assert reply.native == ()  # the provider's own form would bring the long one back


def test_then_whole_pairs_behind_the_task() -> None:
    shorter = compact(conversation(100, argument=10, result=10), 1_500)
    assert shorter[:2] == [User("the task"), User(DROPPED)]
    assert size(shorter) <= 1_500
    assert is_whole(shorter)


def test_what_people_said_is_never_touched() -> None:
    entries = [*conversation(20), User("b" * 5_000), *pair(99, 10, 10), User("last")]
    users = [entry for entry in entries if isinstance(entry, User)]
    left = [e for e in compact(entries, 1) if isinstance(e, User) and e.text != DROPPED]
    assert left == users


sizes = st.integers(0, 3_000)
blocks = st.one_of(
    st.builds(lambda n: [User("u" * n)], sizes),
    st.builds(lambda n: [Reply("t" * n)], sizes),
    st.builds(pair, st.integers(), sizes, sizes, st.integers(1, 3)),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(blocks, max_size=20), st.integers(1, 20_000))
def test_no_call_is_ever_parted_from_its_result(found: list[list[Entry]], most: int) -> None:
    entries: list[Entry] = [User("task"), *(entry for block in found for entry in block)]
    once = compact(entries, most)
    assert is_whole(once)
    assert once[0] == User("task")
    twice = compact(once, most)
    assert is_whole(twice)
    assert size(twice) <= max(size(once), most)


def test_a_long_job_stays_within_the_model(place: Place) -> None:
    """The provider counts one token a character; without compaction 36,000 would come together."""
    (place.tree / "big.txt").write_text("words and more words\n" * 80)
    turns = [
        fake.Turn("", [fake.Call("read_file", {"path": "big.txt", "start_line": n})], usage=usage)
        for n, usage in ((n, fake.Usage(input=2_400 * min(n, 6))) for n in range(1, 16))
    ]
    script = fake.Script([*turns, fake.Turn("Read it all.")], in_order=True)
    with fake.model_server(scripts=[script]) as server:
        ran = place.run(server, context_tokens=20_000, output_tokens=2_000)
        sizes = [len(json.dumps(request.body["messages"])) for request in server.requests]
    assert ran.outcome.kind == "completed", ran.lines[-2:]
    assert ran.of("compacted")
    assert max(sizes) < 20_000
    first = server.requests[-1].body["messages"][0]["content"][0]["text"]
    assert first.startswith("Do it")
