"""python -m tests.bench.listening PORT WHAT KEY CLIENTS: a process of many WebSocket clients.

Says "ready" once all are live. Then reads a number from stdin, and says, as JSON, how late events
were when that one, the last, has come to everybody. Every client reads all it is sent; a sample of
them looks into it, for a Python program that parsed everything would measure itself.
"""

import json
import re
import selectors
import sys
import time

from tests.streams.client import SocketClient

SAMPLED = 20
PATIENCE_S = 60.0
_STAMP = re.compile(rb'"at": ?([0-9.]+)')
_CURSOR = re.compile(rb'"cursor": ?(\d+)')
TAIL = 64


class Listener:
    def __init__(self, client: SocketClient, *, sampled: bool) -> None:
        self.client = client
        self.cursor = 0
        self.open = True
        self.late: list[float] = []
        self._sampled = sampled
        self._tail = b""

    def read(self) -> None:
        try:
            data = self.client.wire.socket.recv(1 << 18)
        except ConnectionError:
            data = b""
        now = time.time()
        if not data:
            self.open = False
            return
        if self._sampled:
            text = self._tail + data
            # A stamp that lies across two pieces is counted with the second.
            cut = text.rfind(b"}") + 1
            self.late += [now - float(stamp) for stamp in _STAMP.findall(text[:cut])]
            self._look_for_cursor(text)
            self._tail = text[cut:]
        else:
            self._look_for_cursor(self._tail + data)
            self._tail = data[-TAIL:]

    def _look_for_cursor(self, text: bytes) -> None:
        found = _CURSOR.findall(text[-TAIL:])
        if found:
            self.cursor = int(found[-1])


def main() -> None:
    port, what, key, count = sys.argv[1:]
    every = max(1, int(count) // SAMPLED)
    listeners = []
    waiting = selectors.DefaultSelector()
    for number in range(int(count)):
        client = SocketClient(int(port), what, {"Authorization": f"Bearer {key}"})
        for frame in client:
            if frame["type"] == "live":
                break
        listener = Listener(client, sampled=number % every == 0)
        client.wire.socket.setblocking(False)
        waiting.register(client.wire.socket, selectors.EVENT_READ, listener)
        listeners.append(listener)
    print("ready", flush=True)
    last = 0
    waiting.register(sys.stdin, selectors.EVENT_READ)
    deadline = 0.0
    while not last or not _all_have(listeners, last):
        if deadline and time.monotonic() > deadline:
            break
        for key_, _ in waiting.select(0.1):
            if key_.data is None:
                last = int(sys.stdin.readline())
                waiting.unregister(sys.stdin)
                deadline = time.monotonic() + PATIENCE_S
            else:
                key_.data.read()
                if not key_.data.open:
                    waiting.unregister(key_.fileobj)
    late = sorted(value for listener in listeners for value in listener.late)
    complete = sum(listener.cursor >= last for listener in listeners)
    print(json.dumps({"late": late, "complete": complete}), flush=True)


def _all_have(listeners: list[Listener], last: int) -> bool:
    return all(listener.cursor >= last or not listener.open for listener in listeners)


if __name__ == "__main__":
    main()
