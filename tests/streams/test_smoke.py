"""What a client sees of a workspace, on both transports."""

from collections.abc import Iterator

import pytest

from tasks.models import Workspace
from tests.codeframe_site.server_process import Web
from tests.streams.client import CLIENTS, Word
from tests.streams.writing import commit

pytestmark = pytest.mark.django_db(transaction=True)


def until(frames: Iterator[Word], kind: str) -> list[Word]:
    seen = []
    for frame in frames:
        seen.append(frame)
        if frame["type"] == kind:
            return seen
    raise AssertionError(f"no {kind} in {seen}")


@pytest.mark.parametrize("transport", CLIENTS)
def test_it_replays_and_then_follows(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    commit(shop, 3)
    with CLIENTS[transport](server.port, f"workspaces/{shop.id}", headers, after=1) as client:
        frames = iter(client)
        seen = until(frames, "live")
        assert [frame["type"] for frame in seen if frame["type"] != "events"] == ["hello", "live"]
        assert [e["seq"] for f in seen for e in f.get("events", [])] == [2, 3]
        commit(shop)
        (frame,) = until(frames, "events")
        assert [event["seq"] for event in frame["events"]] == [4]
        assert frame["events"][0]["payload"] == {"n": 1}
