"""Settings of one workspace: its name, its gates, its members, and forgetting it."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from batches.deletion import remove_workspace
from batches.models import Batch
from tasks.errors import DomainError
from tasks.members import remove_member, set_member, user_named
from tasks.models import Membership, Task, Workspace
from tasks.models.membership import Role
from tasks.text import storable
from tasks.web.edit_pages import blame
from tasks.web.rows import may, say, workspace_row
from tasks.workspaces.registry import change_workspace

MEMBERS_SHOWN = 500


class SettingsForm(forms.Form):
    name = forms.CharField(max_length=100)
    gates_waived = forms.BooleanField(
        required=False,
        label="It needs no gates",
        help_text="Results without gates count as waived instead of unverified",
    )


class MemberForm(forms.Form):
    username = forms.CharField(max_length=150, label="Name of the account")
    role = forms.ChoiceField(
        choices=Role.choices,
        help_text="Viewers look; operators add tasks and run batches; admins let others in",
    )


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def workspace_settings(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """Everybody may look; only an admin is offered a form."""
    posted = request.method == "POST"
    workspace = workspace_row(request, workspace_id, Role.ADMIN if posted else Role.VIEWER)
    initial = {"name": workspace.name, "gates_waived": workspace.gates_waived}
    form = SettingsForm(request.POST if posted else None, initial=initial)
    if posted and form.is_valid() and _changed(request, workspace, form):
        return redirect("workspace-settings", workspace.id)
    context = _context(request, workspace_row(request, workspace_id)) | {"form": form}
    return render(request, "site/settings.html", context, status=422 if form.errors else 200)


def _changed(request: HttpRequest, workspace: Workspace, form: SettingsForm) -> bool:
    changes = {name: form.cleaned_data[name] for name in form.changed_data}
    by = request.user.get_username()
    try:
        if changes:
            change_workspace(workspace=workspace, changes=changes, by=by)
    except DomainError as error:
        error.fields.setdefault("name", [error.message])
        blame(form, error)
        return False
    return say(request, lambda: "Saved." if changes else "Nothing was changed.")


@require_POST
@login_required
def put_member(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    workspace = workspace_row(request, workspace_id, Role.ADMIN)
    form = MemberForm(request.POST)
    if form.is_valid():
        say(request, lambda: _member_set(workspace, form.cleaned_data, request))
        return redirect("workspace-settings", workspace.id)
    initial = {"name": workspace.name, "gates_waived": workspace.gates_waived}
    context = _context(request, workspace) | {
        "form": SettingsForm(initial=initial),
        "member_form": form,
    }
    return render(request, "site/settings.html", context, status=422)


def _member_set(workspace: Workspace, values: dict[str, Any], request: HttpRequest) -> str:
    user = user_named(storable(values["username"]))
    role = Role(values["role"])
    set_member(workspace=workspace, user=user, role=role, by=request.user.get_username())
    return f"{user.username} is {role.label.lower()} here."


@require_POST
@login_required
def drop_member(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    workspace = workspace_row(request, workspace_id, Role.ADMIN)
    name = storable(request.POST.get("username", ""))
    say(request, lambda: _member_dropped(workspace, name, request))
    visible = workspace_still_visible(request, workspace)
    return redirect("workspace-settings", workspace.id) if visible else redirect("home")


def _member_dropped(workspace: Workspace, name: str, request: HttpRequest) -> str:
    remove_member(workspace=workspace, user=user_named(name), by=request.user.get_username())
    return f"{name} is no member any more."


def workspace_still_visible(request: HttpRequest, workspace: Workspace) -> bool:
    """One may have taken oneself out."""
    return may(request, workspace, Role.VIEWER)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def forget(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """Says what goes; its name is typed where work would be lost."""
    workspace = workspace_row(request, workspace_id, Role.ADMIN)
    batches = Batch.objects.filter(workspace=workspace).count()
    tasks = Task.objects.filter(workspace=workspace).count()
    typed = request.POST.get("name", "").strip()
    wrong = request.method == "POST" and bool(batches or tasks) and typed != workspace.name
    if request.method == "POST" and not wrong:
        done = say(request, lambda: _forgotten(request, workspace, bool(batches)))
        return redirect("home") if done else redirect("workspace-settings", workspace.id)
    context = {"workspace": workspace, "batches": batches, "tasks": tasks, "wrong": wrong}
    return render(request, "site/forget.html", context, status=422 if wrong else 200)


def _forgotten(request: HttpRequest, workspace: Workspace, history: bool) -> str:  # noqa: FBT001
    name, by = workspace.name, request.user.get_username()
    remove_workspace(workspace=workspace, with_history=history, by=by)
    return f"{name} is forgotten; its repository is as it was."


def _context(request: HttpRequest, workspace: Workspace) -> dict[str, Any]:
    is_admin = may(request, workspace, Role.ADMIN)
    rows = Membership.objects.filter(workspace=workspace).select_related("user")
    return {
        "workspace": workspace,
        "is_admin": is_admin,
        "members": rows.order_by("user__username")[:MEMBERS_SHOWN] if is_admin else (),
        "member_form": MemberForm(),
        "roles": Role.choices,
    }
