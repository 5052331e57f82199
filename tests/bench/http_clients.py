"""Clients of a server under load: quick ones that measure, slow ones that only hold on."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from statistics import median
from typing import Any

TIMEOUT_S = 60.0
SLOW_PAUSE_S = 0.2
WAIT_PAUSE_S = 5.0
"""Of those that were answered at once, because so many wait already."""


@dataclass
class Answers:
    """Seconds each good answer took, and how many others there were by status."""

    seconds: list[float] = field(default_factory=list)
    others: dict[int, int] = field(default_factory=dict)
    took_s: float = 0.0

    @property
    def per_second(self) -> float:
        return len(self.seconds) / self.took_s

    @property
    def p50_ms(self) -> float:
        return median(self.seconds) * 1000

    @property
    def p99_ms(self) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))] * 1000


class Site:
    def __init__(self, port: int, key: str) -> None:
        self.port = port
        self.key = key

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    def words(self, path: str, method: str = "GET", *more: str) -> bytes:
        lines = [
            f"{method} {path} HTTP/1.1",
            "Host: localhost",
            f"Authorization: Bearer {self.key}",
            *more,
            "",
            "",
        ]
        return "\r\n".join(lines).encode()

    async def ask(self, path: str, method: str = "GET", *more: str) -> tuple[int, bytes]:
        """On a connection of its own."""
        reader, writer = await self.connect()
        try:
            writer.write(self.words(path, method, *more))
            return await asyncio.wait_for(read_answer(reader), TIMEOUT_S)
        finally:
            writer.close()

    async def hammer(
        self, path: str, *, clients: int, seconds: float, pause_s: float = 0.0
    ) -> Answers:
        """Each client keeps its connection, and asks again when it has its answer."""
        answers = Answers()
        began = time.perf_counter()
        until = began + seconds
        await asyncio.gather(*(self._client(path, answers, until, pause_s) for _ in range(clients)))
        answers.took_s = time.perf_counter() - began
        return answers

    async def _client(self, path: str, answers: Answers, until: float, pause_s: float) -> None:
        reader, writer = await self.connect()
        words = self.words(path)
        while (began := time.perf_counter()) < until:
            writer.write(words)
            status, _ = await asyncio.wait_for(read_answer(reader), TIMEOUT_S)
            if status == 200:
                answers.seconds.append(time.perf_counter() - began)
            else:
                answers.others[status] = answers.others.get(status, 0) + 1
            await asyncio.sleep(pause_s)
        writer.close()

    async def send_slowly(self, path: str) -> None:
        """Its request a byte at a time, and never its end."""
        _, writer = await self.connect()
        for byte in self.words(path)[:-2]:
            writer.write(bytes([byte]))
            await asyncio.sleep(SLOW_PAUSE_S)
        await asyncio.Future()

    async def read_slowly(self, path: str) -> None:
        """Its request at once, and then the answer a few bytes at a time."""
        while True:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=256)
            writer.write(self.words(path, "GET", "Connection: close"))
            await _sip(reader)
            writer.close()

    async def wait(self, path: str) -> None:
        """Asks to wait for what does not end, again and again."""
        while True:
            await self.ask(path, "POST", "Prefer: wait=30", "Content-Length: 0")
            await asyncio.sleep(WAIT_PAUSE_S)


async def _sip(reader: asyncio.StreamReader) -> None:
    async for _ in _pieces(reader):
        await asyncio.sleep(SLOW_PAUSE_S)


async def _pieces(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while piece := await reader.read(64):
        yield piece


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
        if name.lower() == b"transfer-encoding":
            return status, await _chunks(reader)
    return status, await reader.readexactly(length)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    found = b""
    while size := int(await reader.readline(), 16):
        found += (await reader.readexactly(size + 2))[:-2]
    await reader.readline()
    return found


@contextlib.asynccontextmanager
async def crowd(*clients: Coroutine[Any, Any, None]) -> Any:
    """Clients that go on until the block ends; one that fails says so there."""
    tasks = [asyncio.create_task(client) for client in clients]
    try:
        yield
        failed = [task.exception() for task in tasks if task.done()]
        assert not any(failed), failed
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
