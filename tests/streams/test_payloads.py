"""Whatever is recorded is stored and sent; nothing that lies in the table ends a stream."""

import json
from typing import Any

import pytest
from django.db import connection, transaction

from tasks.events.log import record_one
from tasks.models import Event, Workspace
from tests.codeframe_site.server_process import Web
from tests.streams.client import CLIENTS
from tests.streams.reading import until, until_seq
from tests.streams.writing import commit

pytestmark = pytest.mark.django_db(transaction=True)
both = pytest.mark.parametrize("transport", CLIENTS)


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no")


def endless() -> dict[str, Any]:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    return loop


ODD = {
    "hostile": (Hostile(), "<Hostile>"),
    "hostile key": ({Hostile(): 1}, {"<Hostile>": 1}),
    "object": (object, "<class 'object'>"),
    "huge number": (10**5000, hex(10**5000)),
    "set": ({1}, [1]),
    "nan": (float("nan"), "nan"),
    "surrogate": ("\ud800", "?"),
    "bytes": (b"\xff", "\ufffd"),
    "separators": ("\u2028\u2029\r\n\n\nid: 5\n", "\u2028\u2029\r\n\n\nid: 5\n"),
}


@both
@pytest.mark.parametrize("name", ODD)
def test_what_cannot_be_serialised_is_sent_as_what_it_was(
    transport: str, name: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    """Fault 33."""
    value, shown = ODD[name]
    with CLIENTS[transport](server.port, f"workspaces/{shop.id}", headers) as client:
        frames = iter(client)
        until(frames, "live")
        with transaction.atomic():
            record_one(workspace_id=shop.id, type="TEST", payload={"value": value})
        (event,) = until(frames, "events")[-1]["events"]
        assert event["payload"] == {"value": shown}
        assert Event.objects.get().payload == {"value": shown}


@both
def test_a_payload_without_a_bottom_is_sent_down_to_a_depth(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with transaction.atomic():
        record_one(workspace_id=shop.id, type="TEST", payload=endless())
        record_one(workspace_id=shop.id, type="TEST", payload={"deep": deep})
    with CLIENTS[transport](server.port, f"workspaces/{shop.id}", headers, after=0) as client:
        assert until_seq(iter(client), 2)
    while deep:  # or Python would free it by recursion
        deep = deep[0]


@both
def test_a_row_that_a_hand_has_written_ends_no_stream(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    commit(shop, 3)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE tasks_event SET payload = %s WHERE seq = 1", ['{\n "a":\r\n 1}'])
        cursor.execute("UPDATE tasks_event SET payload = %s WHERE seq = 2", ['"text"'])
        cursor.execute("UPDATE tasks_event SET type = %s WHERE seq = 3", ['A"\n\\'])
    with CLIENTS[transport](server.port, f"workspaces/{shop.id}", headers, after=0) as client:
        frames = iter(client)
        events = [e for f in until_seq(frames, 3) for e in f.get("events", [])]
        assert [event["payload"] for event in events] == [{"a": 1}, "text", {"n": 3}]
        assert events[2]["type"] == 'A"\n\\'
        commit(shop)
        assert until_seq(frames, 4)


@both
def test_one_event_of_many_megabytes_is_sent_whole(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    text = "é" * 4_000_000
    with CLIENTS[transport](server.port, f"workspaces/{shop.id}", headers) as client:
        frames = iter(client)
        until(frames, "live")
        commit(shop, payload={"text": text})
        commit(shop)
        events = [e for f in until_seq(frames, 2) for e in f.get("events", [])]
    assert events[0]["payload"]["text"] == text
    assert len(json.dumps(events)) > 8_000_000
