import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from costs.redaction import Redactor

SECRET = "sk-ant-0123456789abcdef"
MASK = "*" * len(SECRET)


def test_a_secret_is_masked_by_as_many_characters() -> None:
    redactor = Redactor([SECRET])
    assert redactor.text(f"key={SECRET}!") == f"key={MASK}!"
    assert redactor.data(f"ä {SECRET}".encode()) == f"ä {MASK}".encode()


@pytest.mark.parametrize("value", ['quo"te\\backslash', "ünïcödé-kéy", "a/b+c d=e&f"])
def test_it_is_found_inside_json_and_addresses_too(value: str) -> None:
    import json
    from urllib.parse import quote

    redactor = Redactor([value])
    for shown in (value, json.dumps({"k": value}), f"http://h/?k={quote(value, safe='')}"):
        assert value not in redactor.text(shown)
        assert "*****" in redactor.text(shown)
        assert redactor.data(shown.encode()) == redactor.text(shown).encode() or "ü" in shown


def test_a_longer_secret_is_masked_whole_where_a_shorter_begins_it() -> None:
    redactor = Redactor(["password", "password-and-more"])
    assert redactor.text("password-and-more password") == "*" * 17 + " " + "*" * 8


def test_short_values_are_left_alone_and_nothing_known_masks_nothing() -> None:
    assert Redactor(["true"]).text("true") == "true"
    assert Redactor([]).data(b"anything") == b"anything"
    assert Redactor([]).unsure(b"anything") == 0


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from([SECRET, "sk-ant-", "x\n", "sk", SECRET[:-1], "0123"]), max_size=12),
    st.lists(st.integers(1, 30), min_size=1, max_size=40),
)
def test_wherever_a_stream_is_cut_no_secret_gets_through(words: list[str], cuts: list[int]) -> None:
    """As output goes into events: what may be a beginning waits for the next piece."""
    redactor = Redactor([SECRET])
    stream, shown, held = "".join(words).encode(), b"", b""
    at = 0
    for size in [*cuts, len(stream)]:
        held = redactor.data(held + stream[at : at + size])
        at += size
        sure = len(held) - redactor.unsure(held)
        shown, held = shown + held[:sure], held[sure:]
    assert shown + held == redactor.data(stream)
