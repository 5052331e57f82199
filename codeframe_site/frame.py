"""What surrounds every page: the rail with its counts, and the colours that were chosen."""

from typing import Any

from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.functional import cached_property
from django.views.decorators.http import require_POST

from batches.models import Batch
from batches.models.batch import ACTIVE
from codeframe_site.back import back
from tasks.access import visible_workspaces
from tasks.models import Blocker, Workspace
from tasks.models.blocker import BlockerStatus

THEMES = ("auto", "light", "dark")
THEME_COOKIE = "codeframe_theme"
COOKIE_SECONDS = 365 * 24 * 3600
WORKSPACES_SHOWN = 12
MOST_COUNTED = 99


class Frame:
    """Asked for its rows only where a whole page is drawn, not where a fragment is."""

    def __init__(self, request: HttpRequest) -> None:
        self._user: Any = getattr(request, "user", None)
        chosen = request.COOKIES.get(THEME_COOKIE, "")
        self.theme = chosen if chosen in THEMES else "auto"
        self.now = timezone.now()

    @property
    def next_theme(self) -> str:
        return THEMES[(THEMES.index(self.theme) + 1) % len(THEMES)]

    @property
    def signed_in(self) -> bool:
        return bool(self._user and self._user.is_authenticated)

    @cached_property
    def _rows(self) -> list[Workspace]:
        if not self.signed_in:
            return []
        busy = Batch.objects.filter(workspace=OuterRef("pk"), status__in=ACTIVE)
        rows = visible_workspaces(self._user).only("id", "name").annotate(busy=Exists(busy))
        return list(rows[: WORKSPACES_SHOWN + 1])

    @property
    def workspaces(self) -> list[Workspace]:
        return self._rows[:WORKSPACES_SHOWN]

    @property
    def more_workspaces(self) -> bool:
        return len(self._rows) > WORKSPACES_SHOWN

    @cached_property
    def questions(self) -> str:
        return questions_count(self._user) if self.signed_in else ""


def questions_count(user: Any) -> str:
    """Open questions as the badge shows them; empty when there are none."""
    rows = Blocker.objects.filter(
        status=BlockerStatus.OPEN, task__workspace__in=visible_workspaces(user)
    )
    count = len(rows.order_by().values_list("id")[: MOST_COUNTED + 1])
    if count > MOST_COUNTED:
        return f"{MOST_COUNTED}+"
    return str(count or "")


def frame(request: HttpRequest) -> dict[str, Frame]:
    return {"frame": Frame(request)}


@require_POST
def choose_theme(request: HttpRequest) -> HttpResponse:
    chosen = request.POST.get("theme", "")
    response = back(request)
    if chosen in THEMES:
        response.set_cookie(THEME_COOKIE, chosen, max_age=COOKIE_SECONDS, samesite="Lax")
    return response
