"""Questions that wait for a person, in every workspace one sees."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from codeframe_site.frame import questions_count


@require_safe
@login_required
def badge(request: HttpRequest) -> HttpResponse:
    count = questions_count(request.user)
    return render(request, "site/questions_badge.html", {"count": count})
