"""Who holds up the event loop is named while it is still at it."""

import asyncio
import time

import pytest

from codeframe_site.looplag import LoopMonitor


def hold_up(seconds: float) -> None:
    time.sleep(seconds)


async def watched(monitor: LoopMonitor, held_s: float) -> None:
    monitor.start()
    await asyncio.sleep(0.1)
    hold_up(held_s)
    await asyncio.sleep(0.1)
    monitor.stop()


def test_a_sleep_on_the_loop_is_named_by_file_and_function(
    caplog: pytest.LogCaptureFixture,
) -> None:
    monitor = LoopMonitor()
    asyncio.run(watched(monitor, 2.0))
    spike = monitor.last_spike
    assert spike is not None
    assert spike.culprit.endswith(" hold_up")
    assert "test_looplag.py:" in spike.culprit
    assert spike.seconds > 1.5
    said = [record for record in caplog.records if "hold_up" in record.getMessage()]
    assert len(said) == 1, "its stack is told once"


def test_a_spike_is_seen_by_the_time_the_loop_is_free_again() -> None:
    monitor = LoopMonitor()

    async def look() -> None:
        monitor.start()
        await asyncio.sleep(0.1)
        hold_up(1.0)
        await asyncio.sleep(monitor.tick_s * 3)
        assert monitor.spikes == 1
        monitor.stop()

    asyncio.run(look())


def test_a_loop_that_only_waits_has_no_spike() -> None:
    monitor = LoopMonitor(bound_s=5.0)

    async def wait() -> None:
        monitor.start()
        await asyncio.sleep(0.3)
        monitor.stop()

    asyncio.run(wait())
    assert (monitor.spikes, monitor.last_spike) == (0, None)
    assert monitor.state()["last_spike"] is None


def test_the_state_is_in_milliseconds() -> None:
    monitor = LoopMonitor()
    monitor._sample(0.1)
    assert monitor.state()["worst_ms"] == 100.0
    assert monitor.state()["bound_ms"] == 250.0
