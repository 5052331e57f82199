from pathlib import Path

import pytest

from batches.supervisor.layout import segment_name
from batches.web.output import window
from batches.web.output.finding import MOST_HITS, find
from batches.web.output.lines import lines_before, offset_of_line
from batches.web.output.window import MAX_BYTES, Window
from costs import redaction
from tests.repos import write_files


def spooled(folder: Path, *pieces: bytes, gap: int = 0) -> Path:
    """One segment a piece; `gap` bytes are missing after the first."""
    at = 0
    for place, piece in enumerate(pieces):
        write_files(folder / "stdout", {segment_name(at): piece})
        at += len(piece) + (gap if place == 0 else 0)
    return folder


def texts(found: Window) -> list[str]:
    return [str(line.html) for line in found.lines]


def numbers(found: Window) -> list[int]:
    return [line.number for line in found.lines]


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """100,000 lines over several segments, cut where lines are not."""
    whole = b"".join(b"line %d\n" % number for number in range(1, 100_001))
    size = len(whole) // 5 + 7
    return spooled(
        tmp_path_factory.mktemp("long"), *(whole[a : a + size] for a in range(0, len(whole), size))
    )


def test_the_newest_lines_with_their_numbers(long: Path) -> None:
    found = window.newest(long, "stdout", limit=3)
    assert texts(found) == ["line 99998", "line 99999", "line 100000"]
    assert numbers(found) == [99998, 99999, 100000]
    assert (found.above, found.below) == (99997, 0)


def test_going_up_and_down_by_windows_shows_every_line_once(long: Path) -> None:
    seen: list[int] = []
    found = window.newest(long, "stdout", limit=700)
    for _ in range(4):
        seen = numbers(found) + seen
        found = window.before(long, "stdout", found.start, limit=700)
    assert seen == list(range(100_000 - 2800 + 1, 100_001))
    found = window.after(long, "stdout", 0, limit=900)
    down = numbers(found) + numbers(window.after(long, "stdout", found.end, limit=900))
    assert down == list(range(1, 1801))
    assert found.below == 100_000 - 900


@pytest.mark.parametrize("number", [1, 2, 20_001, 54_321, 99_999, 100_000])
def test_a_line_is_found_by_its_number(long: Path, number: int) -> None:
    offset = offset_of_line(long, "stdout", number)
    assert lines_before(long, "stdout", offset) == number - 1
    found = window.after(long, "stdout", offset, limit=1)
    assert (texts(found), numbers(found)) == ([f"line {number}"], [number])


def test_a_number_beyond_the_end_is_the_end(long: Path) -> None:
    assert texts(window.after(long, "stdout", offset_of_line(long, "stdout", 200_000))) == []


def test_a_line_over_the_border_of_two_segments_is_whole(tmp_path: Path) -> None:
    run_dir = spooled(tmp_path, b"first\nsec", b"ond\nthird\n")
    assert texts(window.newest(run_dir, "stdout")) == ["first", "second", "third"]


def test_what_was_cut_from_the_middle_is_told_where_it_was(tmp_path: Path) -> None:
    run_dir = spooled(tmp_path, b"head\nhal", b"f\ntail\n", gap=5000)
    found = window.newest(run_dir, "stdout")
    assert [(str(line.html), line.cut) for line in found.lines] == [
        ("head", 0),
        ("hal", 0),
        ("f", 5000),
        ("tail", 0),
    ]


def test_a_line_without_its_newline_is_shown_and_read_again_by_a_follower(tmp_path: Path) -> None:
    run_dir = spooled(tmp_path, b"one\ntw")
    found = window.newest(run_dir, "stdout")
    assert [line.open for line in found.lines] == [False, True]
    assert (found.next, found.end) == (4, 6)
    spooled(tmp_path, b"one\ntwo\nthree\n")
    assert texts(window.after(run_dir, "stdout", found.next)) == ["two", "three"]


def test_a_window_is_bounded_by_bytes_too(tmp_path: Path) -> None:
    run_dir = spooled(tmp_path, b"x" * (3 * MAX_BYTES) + b"\nend\n")
    newest = window.newest(run_dir, "stdout")
    assert texts(newest)[-1] == "end"
    assert sum(map(len, texts(newest))) < MAX_BYTES
    assert len(window.after(run_dir, "stdout", 0).lines) == 1


def test_a_run_without_output_has_an_empty_window(tmp_path: Path) -> None:
    found = window.newest(tmp_path, "stdout")
    assert (found.lines, found.above, found.below, found.size) == ([], 0, 0, 0)


# -- finding -------------------------------------------------------------------------------------


def test_every_line_that_holds_a_text_is_found_with_its_number(long: Path) -> None:
    hits, more = find(long, "stdout", "LINE 4321")
    assert [hit.number for hit in hits] == [4321, *range(43210, 43220)]
    assert not more
    for hit in hits:
        assert offset_of_line(long, "stdout", hit.number) == hit.offset


def test_more_hits_than_are_shown_are_said(long: Path) -> None:
    hits, more = find(long, "stdout", "line")
    assert (len(hits), more) == (MOST_HITS, True)


def test_a_text_that_no_line_holds_and_an_empty_one(long: Path) -> None:
    assert find(long, "stdout", "nowhere") == ([], False)
    assert find(long, "stdout", "") == ([], False)


def test_a_key_with_an_escape_in_it_is_masked_where_it_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redaction, "_current", redaction.Redactor(["sk-4f8a1c9e7b2d"]))
    folder = spooled(tmp_path, b"begin sk-4f8a\x1b[0m1c9e7b2d end\n")
    assert [hit.text for hit in find(folder, "stdout", "begin")[0]] == [f"begin {'*' * 15} end"]
