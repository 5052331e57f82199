"""Registering a repository as a workspace, below the folders that may be."""

from typing import cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from tasks.errors import DomainError
from tasks.models import Workspace
from tasks.web.edit_pages import blame
from tasks.workspaces.registry import OUTSIDE, add_workspace, jailed_path


class RegisterForm(forms.Form):
    repo_path = forms.CharField(
        max_length=4000,
        label="Path of the repository",
        help_text="A git repository on the server's machine, as a whole path",
    )
    name = forms.CharField(
        max_length=100,
        required=False,
        help_text="Letters, digits, dash and underscore; empty: the folder's name",
    )
    gates_waived = forms.BooleanField(
        required=False,
        label="It needs no gates",
        help_text="Gates are the checks that a result must pass: tests, linters. Without any, "
        "results count as unverified unless you say here that none are needed.",
    )


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def register(request: HttpRequest) -> HttpResponse:
    form = RegisterForm(request.POST or None)
    if form.is_valid():
        try:
            workspace = _add(request, form)
        except DomainError as error:
            _blame(form, error)
        else:
            messages.success(request, f"{workspace.name} was registered.")
            return redirect("workspace", workspace.id)
    context = {"form": form, "roots": settings.WORKSPACE_ROOTS}
    return render(request, "site/register.html", context, status=422 if form.errors else 200)


def _add(request: HttpRequest, form: RegisterForm) -> Workspace:
    user = cast("User", request.user)
    return add_workspace(
        path=str(jailed_path(form.cleaned_data["repo_path"])),
        name=form.cleaned_data["name"],
        gates_waived=form.cleaned_data["gates_waived"],
        jailed=True,
        owner=user,
        by=user.username,
    )


def _blame(form: RegisterForm, error: DomainError) -> None:
    if error.fields:
        blame(form, error)
    elif error.message == OUTSIDE:
        form.add_error("repo_path", f"{OUTSIDE.capitalize()}.")
    else:
        form.add_error("repo_path", error.message)
