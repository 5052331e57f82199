"""Questions that wait for a person, in every workspace one sees; answered in place."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from batches.answering import send_on
from codeframe_site.back import back
from codeframe_site.frame import questions_count
from tasks.access import visible_workspaces
from tasks.blockers import answer_blocker
from tasks.models import Blocker, Membership, Workspace
from tasks.models.blocker import BlockerStatus
from tasks.models.membership import RANK, Role
from tasks.web.forms import AnswerForm
from tasks.web.paging import page_of
from tasks.web.rows import blocker_row, say

SHOWN = 50
ANSWERED_SHOWN = 20


@require_safe
@login_required
def questions(request: HttpRequest) -> HttpResponse:
    """The oldest first: it has held its task up longest."""
    rows = _visible(request)
    page = page_of(
        rows.filter(status=BlockerStatus.OPEN).order_by("created_at", "id"), request, size=SHOWN
    )
    operated = _operated(request)
    for blocker in page.rows:
        blocker.may_answer = operated is None or blocker.task.workspace_id in operated  # type: ignore[attr-defined]
    answered = rows.exclude(status=BlockerStatus.OPEN).order_by("-answered_at")[:ANSWERED_SHOWN]
    context = {"page": page, "answered": answered, "here": request.get_full_path()}
    return render(request, "site/questions.html", context)


@require_safe
@login_required
def badge(request: HttpRequest) -> HttpResponse:
    count = questions_count(request.user)
    return render(request, "site/questions_badge.html", {"count": count})


@require_POST
@login_required
def answer(request: HttpRequest, blocker_id: UUID) -> HttpResponse:
    blocker = blocker_row(request, blocker_id, Role.OPERATOR)
    form = AnswerForm(request.POST)
    if form.is_valid():
        say(request, lambda: _answered(blocker, form.cleaned_data["answer"], request))
    else:
        messages.error(request, f"The answer: {form.errors['answer'][0]}")
    return back(request, reverse("workspace", args=[blocker.task.workspace_id]))


def _answered(blocker: Blocker, text: str, request: HttpRequest) -> str:
    by = request.user.get_username()
    answer_blocker(blocker=blocker, answer=text, by=by)
    message = send_on(blocker=blocker, by=by).message
    return f"Answered; {message}."


def _visible(request: HttpRequest) -> QuerySet[Blocker]:
    rows = Blocker.objects.filter(task__workspace__in=visible_workspaces(request.user))
    if text := request.GET.get("workspace", ""):
        rows = rows.filter(task__workspace__in=_one(request, text))
    return rows.select_related("task__workspace")


def _one(request: HttpRequest, text: str) -> QuerySet[Workspace]:
    """What is no id names no workspace."""
    try:
        return visible_workspaces(request.user).filter(id=UUID(text))
    except ValueError:
        return Workspace.objects.none()


def _operated(request: HttpRequest) -> set[UUID] | None:
    """Workspaces in which one may answer; None: all of them."""
    user = request.user
    if getattr(user, "is_superuser", False):
        return None
    enough = [role for role in Role if RANK[role] >= RANK[Role.OPERATOR]]
    rows = Membership.objects.filter(user_id=user.pk or 0, role__in=enough)
    return set(rows.values_list("workspace_id", flat=True))
