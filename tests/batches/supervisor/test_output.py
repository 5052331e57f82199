"""All output arrives: every byte once, in order, whatever it is, within bounded memory and disk."""

import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from batches.supervisor.client import Chunk, StopRequest, adopt, run_to_end, start
from batches.supervisor.spool import Reader, read, size, tail
from tests.batches.supervisor.helpers import (
    Output,
    follow_on,
    never,
    python,
    run,
    sh,
    spec_of,
    supervisor_of,
)

WRITE = "import sys; w = sys.stdout.buffer.write\n"


def spooled(run_dir: Path) -> int:
    return sum(path.stat().st_size for path in (run_dir / "stdout").iterdir())


def test_the_two_streams_are_kept_apart(tmp_path: Path) -> None:
    record, output = run(tmp_path / "run", sh("echo out; echo err >&2"))
    assert (output.stdout, output.stderr) == (b"out\n", b"err\n")
    assert (record.stdout_bytes, record.stderr_bytes) == (4, 4)


def test_a_line_longer_than_any_buffer_is_whole(tmp_path: Path) -> None:
    record, output = run(tmp_path / "run", python(WRITE + "w(b'x' * 200_000 + b'\\n')"))
    assert output.stdout == b"x" * 200_000 + b"\n"
    assert record.code == 0


def test_megabytes_without_a_newline_are_whole(tmp_path: Path) -> None:
    script = WRITE + "w(b'y' * (3 << 20))"
    _, output = run(tmp_path / "run", python(script), spool_bytes=8 << 20)
    assert output.stdout == b"y" * (3 << 20)
    assert output.cut == 0


def test_bytes_that_are_no_text_stay_as_they_are(tmp_path: Path) -> None:
    every = bytes(range(256)) * 5 + b"\xe9\xff\x00\xc3("
    script = WRITE + "w(bytes(range(256)) * 5 + b'\\xe9\\xff\\x00\\xc3('); w(b'')"
    env = {"PATH": "/usr/bin:/bin", "LANG": "C", "LC_ALL": "C"}
    _, output = run(tmp_path / "run", python(script), env=env)
    assert output.stdout == every


@pytest.mark.skipif(sys.platform != "linux", reason="reads the supervisor's memory from /proc")
def test_a_flood_is_bounded_on_disk_and_in_memory(tmp_path: Path) -> None:
    run_dir, done = tmp_path / "run", tmp_path / "done"
    lines, cap = 10_000_000, 2 << 20
    script = (
        WRITE + f"for i in range(0, {lines}, 10_000):\n"
        "    w(b''.join(b'%019d\\n' % n for n in range(i, i + 10_000)))\n"
        "sys.stdout.flush()\n"
        f"import time\nwhile not __import__('os').path.exists({str(done)!r}): time.sleep(0.05)\n"
    )
    handle = start(run_dir, spec_of(python(script), spool_bytes=cap, deadline_s=150))
    supervisor = supervisor_of(run_dir)
    most = 0
    while size(run_dir, "stdout") < lines * 20:
        most = max(most, _spooled_or_zero(run_dir))
        time.sleep(0.02)
    peak_kb = int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{supervisor}/status").read_text())[1])  # type: ignore[index]
    done.touch()
    output = Output()
    record = follow_on(handle, output)
    assert peak_kb < 32 * 1024
    assert most <= cap
    assert spooled(run_dir) <= cap
    assert record.stdout_bytes == lines * 20 == output.next["stdout"]
    assert record.cut_bytes == output.cut == lines * 20 - spooled(run_dir)
    assert output.stdout.startswith(b"%019d\n%019d\n" % (0, 1))
    assert output.stdout.endswith(b"%019d\n" % (lines - 1))
    assert tail(run_dir, "stdout", 40).data == b"%019d\n%019d\n" % (lines - 2, lines - 1)


def _spooled_or_zero(run_dir: Path) -> int:
    try:
        return spooled(run_dir)
    except FileNotFoundError:  # removed while it was counted
        return 0


def test_a_slow_follower_of_a_flood_is_told_of_the_gap(tmp_path: Path) -> None:
    output = Output()

    def slowly(chunk: Chunk) -> None:
        time.sleep(0.05)
        output(chunk)

    script = WRITE + "for i in range(400): w(b'%09d\\n' % i * 1000)"
    spec = spec_of(python(script), spool_bytes=256 << 10)
    record = run_to_end(tmp_path / "run", spec, never, on_output=slowly, poll_s=0.02)
    assert output.next["stdout"] == record.stdout_bytes == 4_000_000
    assert len(output.stdout) + output.cut == 4_000_000
    assert output.stdout.endswith(b"%09d\n" % 399)


def test_a_flood_does_not_hold_up_a_stop(tmp_path: Path) -> None:
    flood = python(WRITE + "while True: w(b'z' * 65536)")
    asked: list[Chunk] = []
    record = run_to_end(
        tmp_path / "run",
        spec_of(flood, spool_bytes=64 << 20),
        lambda: StopRequest("enough") if asked else None,
        on_output=asked.append,
    )
    assert record.cause == "stopped"
    assert record.duration_s < 30


def test_a_long_prompt_and_early_output_do_not_block_each_other(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt"
    prompt.write_bytes(b"p" * 128 * 1024)
    script = WRITE + "w(b'o' * 131072); sys.stdout.flush(); w(b'%d' % len(sys.stdin.buffer.read()))"
    record, output = run(tmp_path / "run", python(script), stdin_path=str(prompt))
    assert record.code == 0
    assert output.stdout == b"o" * 131072 + b"131072"


def test_an_agent_that_reads_its_input_to_the_end_is_not_kept_waiting(tmp_path: Path) -> None:
    record, output = run(tmp_path / "run", sh("cat >/dev/null; echo ok"))
    assert output.stdout == b"ok\n"
    assert record.duration_s < 10


@pytest.mark.skipif(sys.platform != "linux", reason="reads the supervisor's time from /proc")
def test_an_agent_may_close_its_output_and_work_on(tmp_path: Path) -> None:
    """And the supervisor sleeps meanwhile: in 1.5 s it uses no two ticks of 10 ms."""
    ticks = "cut -d' ' -f14,15 /proc/$PPID/stat >> " + str(tmp_path / "ticks")
    record, _ = run(tmp_path / "run", sh(f"exec >&- 2>&-; {ticks}; sleep 1.5; {ticks}; exit 5"))
    assert record.code == 5
    before, after = (
        sum(map(int, line.split())) for line in (tmp_path / "ticks").read_text().splitlines()
    )
    assert after - before <= 2


def test_output_is_handed_on_while_the_agent_runs(tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    agent = sh(f"echo now; until [ -e {go_on} ]; do sleep 0.02; done")

    def on_output(chunk: Chunk) -> None:
        go_on.write_bytes(chunk.data)

    record = run_to_end(tmp_path / "run", spec_of(agent), never, on_output=on_output)
    assert record.code == 0


def test_what_a_callback_raises_ends_the_following_but_not_the_run(tmp_path: Path) -> None:
    run_dir, go_on = tmp_path / "run", tmp_path / "go-on"
    handle = start(
        run_dir, spec_of(sh(f"echo 1; until [ -e {go_on} ]; do sleep 0.02; done; echo 2"))
    )

    def refuse(_: Chunk) -> None:
        raise LookupError("the lease is gone")

    offsets: dict[str, int] = {}
    with pytest.raises(LookupError):
        follow_on(handle, refuse, offsets=offsets)
    assert offsets == {}
    go_on.touch()
    output = Output()
    assert follow_on(handle, output, offsets=offsets).code == 0
    assert output.stdout == b"1\n2\n"
    assert offsets == {"stdout": 4}


def test_two_followers_each_get_all(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    handles = [start(run_dir, spec_of(sh("for i in 1 2 3 4 5; do echo $i; sleep 0.05; done")))]
    second = adopt(run_dir)
    assert second is not None
    handles.append(second)
    outputs = [Output(), Output()]
    with ThreadPoolExecutor(2) as pool:
        records = list(pool.map(follow_on, handles, outputs))
    assert records[0] == records[1]
    assert [output.stdout for output in outputs] == [b"1\n2\n3\n4\n5\n"] * 2


def test_the_spool_is_read_from_any_offset(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    run(run_dir, sh("printf 0123456789"))
    assert read(run_dir, "stdout", 3, 4) == Chunk("stdout", 3, b"3456")
    assert read(run_dir, "stdout", 10, 4) == Chunk("stdout", 10, b"")
    assert read(run_dir, "stderr", 0, 4) == Chunk("stderr", 0, b"")
    assert tail(run_dir, "stdout", 3) == Chunk("stdout", 7, b"789")
    assert tail(run_dir, "stdout", 300) == Chunk("stdout", 0, b"0123456789")
    assert tail(run_dir, "stderr", 3) == Chunk("stderr", 0, b"")
    assert size(run_dir, "stdout") == 10


def test_a_tail_never_hides_a_gap(tmp_path: Path) -> None:
    folder = tmp_path / "stdout"
    folder.mkdir()
    (folder / f"{0:020d}").write_bytes(b"head")
    (folder / f"{10:020d}").write_bytes(b"mid")
    (folder / f"{13:020d}").write_bytes(b"tail")
    assert tail(tmp_path, "stdout", 100) == Chunk("stdout", 10, b"midtail", cut=6)
    assert tail(tmp_path, "stdout", 5) == Chunk("stdout", 12, b"dtail")
    assert read(tmp_path, "stdout", 4) == Chunk("stdout", 10, b"mid", cut=6)
    assert read(tmp_path, "stdout", 6) == Chunk("stdout", 10, b"mid", cut=4)
    assert size(tmp_path, "stdout") == 17


def test_a_segment_being_read_is_read_to_its_end_though_it_is_cut(tmp_path: Path) -> None:
    folder = tmp_path / "stdout"
    folder.mkdir()
    for start_offset, text in ((0, b"head"), (4, b"middle"), (10, b"tail")):
        (folder / f"{start_offset:020d}").write_bytes(text)
    reader = Reader(tmp_path, "stdout")
    pieces = [reader.read(4), reader.read(3)]
    (folder / f"{4:020d}").unlink()
    pieces += [reader.read(4), reader.read(4)]
    reader.close()
    assert pieces == [
        Chunk("stdout", 0, b"head"),
        Chunk("stdout", 4, b"mid"),
        Chunk("stdout", 7, b"dle"),
        Chunk("stdout", 10, b"tail"),
    ]
