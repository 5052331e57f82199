"""One's own account: password, memberships, and the tokens of one's programs."""

from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from codeframe_site.models import ApiToken, Scope
from codeframe_site.tokens import make_token, revoke_token
from tasks.access import visible_workspaces
from tasks.audit import audit
from tasks.models import Membership, Workspace

TOKENS_SHOWN = 100
MEMBERSHIPS_SHOWN = 100
LIFETIMES = ((30, "30 days"), (90, "90 days"), (365, "a year"), (0, "until it is revoked"))


class TokenForm(forms.Form):
    name = forms.CharField(max_length=100, help_text="What it is for, to know it again")
    scope = forms.ChoiceField(
        choices=Scope.choices,
        help_text="Read looks; write changes and runs; admin also sets up, and makes tokens",
    )
    days = forms.TypedChoiceField(label="Valid for", coerce=int, choices=LIFETIMES, initial=90)
    workspaces = forms.ModelMultipleChoiceField(
        queryset=Workspace.objects.none(),
        required=False,
        label="Only for",
        help_text="None chosen: all that you may see, also later ones",
    )

    def __init__(self, user: Any, data: Any = None) -> None:
        super().__init__(data)
        field = cast("forms.ModelMultipleChoiceField[Workspace]", self.fields["workspaces"])
        field.queryset = visible_workspaces(user)


@never_cache
@require_safe
@login_required
def account(request: HttpRequest) -> HttpResponse:
    return render(request, "site/account.html", _context(request))


@never_cache
@require_POST
@login_required
def new_token(request: HttpRequest) -> HttpResponse:
    """The key is in this answer and nowhere else: so it is no redirect."""
    form = TokenForm(request.user, request.POST)
    if not form.is_valid():
        return render(request, "site/account.html", _context(request, form=form), status=422)
    values = form.cleaned_data
    token, key = make_token(
        user=cast("User", request.user),
        name=values["name"],
        scope=Scope(values["scope"]),
        expires_at=timezone.now() + timedelta(days=values["days"]) if values["days"] else None,
        workspaces=list(values["workspaces"]) or None,
    )
    return render(request, "site/account.html", _context(request) | {"made": token, "key": key})


@require_POST
@login_required
def drop_token(request: HttpRequest, token_id: UUID) -> HttpResponse:
    rows = ApiToken.objects.filter(user=cast("User", request.user)).select_related("user")
    token = rows.filter(id=token_id).first()
    if token is None:
        raise Http404("There is no such token.")
    revoke_token(token, by=request.user.get_username())
    messages.success(request, f"{token.name} was revoked: it opens nothing any more.")
    return redirect("account")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def first_password(request: HttpRequest) -> HttpResponse:
    """For who came in by a link and has none; to change one, the old one is asked for."""
    user = cast("User", request.user)
    if user.has_usable_password():
        return redirect("account")
    form = SetPasswordForm(user, request.POST or None)
    if form.is_valid():
        form.save()
        audit(user.username, "password.set", user.username)
        update_session_auth_hash(request, user)
        messages.success(request, "From now on you can sign in with this password.")
        return redirect("account")
    return render(
        request, "site/first_password.html", {"form": form}, status=422 if form.errors else 200
    )


def _context(request: HttpRequest, *, form: TokenForm | None = None) -> dict[str, Any]:
    user = cast("User", request.user)
    members = Membership.objects.filter(user=user).select_related("workspace")
    return {
        "form": form or TokenForm(user),
        "tokens": ApiToken.objects.filter(user=user)[:TOKENS_SHOWN],
        "memberships": members.order_by("workspace__name")[:MEMBERSHIPS_SHOWN],
        "has_password": user.has_usable_password(),
        "now": timezone.now(),
    }
