"""/api/v2/events: the log by cursor, oldest first after a number, or the newest page."""

from uuid import UUID

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from tasks.api.base import ApiView
from tasks.api.describe import WORKSPACE, asked, counted, describe
from tasks.api.query import row_id, whole_number
from tasks.api.shapes import EventListShape
from tasks.events.payloads import event_object
from tasks.models import Event, EventCounter

DEFAULT, MOST = 100, 1000
OF = ("batch_id", "run_id", "task_id")


class EventsView(ApiView):
    @describe(
        "list_events",
        "What has happened: what follows a number, or the newest",
        returns=EventListShape,
        query=[
            *WORKSPACE,
            asked("after", "What follows this seq, the oldest first; since_id means the same", int),
            asked("since_id", "An older name of `after`", int),
            asked("type", "Only this type"),
            *(asked(name, "Only of this one", UUID) for name in OF),
            counted("limit", "Events at once", 1, MOST, DEFAULT),
        ],
    )
    def get(self, request: Request) -> Response:
        """`?after=SEQ` gives what follows, without a gap; without it the newest, newest first.

        `next_after` is where to go on: nothing is missed from there, and nothing seen twice.
        """
        workspace = self.workspace()
        # Read before the rows: an event committed in between is then after it, and not lost.
        counters = EventCounter.objects.filter(workspace=workspace)
        last = counters.values_list("seq", flat=True).first() or 0
        rows = _filtered(Event.objects.filter(workspace=workspace), request)
        limit = whole_number(request, "limit", DEFAULT, least=1, most=MOST)
        after = _after(request)
        if after is None:
            found = list(rows.order_by("-seq")[:limit])
            following = max(last, found[0].seq if found else 0)
        else:
            found = list(rows.filter(seq__gt=after).order_by("seq")[:limit])
            # All there was up to `last` has been looked at when the page is not full.
            seen = found[-1].seq if found else after
            following = seen if len(found) == limit else max(seen, last)
        body = {
            "events": [event_object(event) for event in found],
            "next_after": following,
            "last_seq": last,
        }
        return Response(body)


def _filtered(rows: QuerySet[Event], request: Request) -> QuerySet[Event]:
    for name in OF:
        if wanted := row_id(request, name):
            rows = rows.filter(**{name: wanted})
    if kind := request.GET.get("type"):
        rows = rows.filter(type=kind)
    return rows


def _after(request: Request) -> int | None:
    """None when it is not given; 0 is a number like any other."""
    name = "after" if "after" in request.GET else "since_id"
    return whole_number(request, name, 0) if request.GET.get(name) else None
