"""/api/v2/events: the log by cursor, oldest first after a number, or the newest page."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from tasks.api.base import ApiView
from tasks.api.objects import event_object
from tasks.api.pages import read_limit
from tasks.errors import ValidationFailed
from tasks.models import Event

MAX_SEQ = 2**53


class EventsView(ApiView):
    def get(self, request: Request) -> Response:
        """`?after=SEQ` gives what follows, without a gap; without it the newest, newest first."""
        rows = Event.objects.filter(workspace=self.workspace())
        for name in ("batch_id", "run_id", "task_id"):
            if text := request.GET.get(name):
                rows = rows.filter(**{name: _uuid(name, text)})
        if kind := request.GET.get("type"):
            rows = rows.filter(type=kind)
        limit = read_limit(request, default=100, maximum=1000)
        after = request.GET.get("after", request.GET.get("since_id"))
        if after is None:
            found = list(rows.order_by("-seq")[:limit])
            return Response({"events": [event_object(e) for e in found], "next_after": None})
        found = list(rows.filter(seq__gt=_seq(after)).order_by("seq")[:limit])
        last = found[-1].seq if found else _seq(after)
        return Response({"events": [event_object(e) for e in found], "next_after": last})


def _seq(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= MAX_SEQ):
        raise ValidationFailed("after: is not a sequence number", fields=_bad("after"))
    return int(text)


def _uuid(name: str, text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise ValidationFailed(f"{name}: is not an id", fields=_bad(name)) from None


def _bad(name: str) -> dict[str, Any]:
    return {name: ["is not valid"]}
