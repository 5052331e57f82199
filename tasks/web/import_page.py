"""A file of tasks: what it would change, or what is wrong in which line; then the import."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from tasks.errors import DomainError
from tasks.models import Task, Workspace
from tasks.models.membership import Role
from tasks.models.task import TaskStatus
from tasks.planning.importing import ImportErrors, TaskDraft, parse_tasks
from tasks.registry import changed_columns, existing_tasks, import_drafts, known_names
from tasks.text import plural
from tasks.web.edit_pages import blame
from tasks.web.rows import workspace_row

MAX_BYTES = 1024 * 1024
ROWS_SHOWN = 200
FORMATS = (("yaml", "YAML"), ("json", "JSON"), ("markdown", "Markdown checklist"))
BY_SUFFIX = {"yml": "yaml", "yaml": "yaml", "json": "json", "md": "markdown"}
EXAMPLE = """\
tasks:
  - title: Add a login page
    description: Name and password; a wrong one says so.
    priority: 1
  - title: Lock out after ten attempts
    depends_on: [Add a login page]
"""


class ImportForm(forms.Form):
    file = forms.FileField(required=False, help_text="YAML, JSON or Markdown, up to 1 MB")
    text = forms.CharField(
        required=False,
        strip=False,
        max_length=MAX_BYTES,
        label="Or its text",
        widget=forms.Textarea(attrs={"rows": 12, "class": "code", "spellcheck": "false"}),
    )
    format = forms.ChoiceField(choices=FORMATS, required=False, help_text="Of a file, by its name")
    update = forms.BooleanField(
        required=False,
        label="Update tasks that are there",
        help_text="Unfinished ones with the same key or title; else they are in the way",
    )
    ready = forms.BooleanField(required=False, initial=True, label="Ready to run")

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        file = values.get("file")
        if file is not None:
            if file.size > MAX_BYTES:
                raise forms.ValidationError({"file": "It is larger than 1 MB."})
            values["data"] = file.read()
            suffix = str(file.name).rpartition(".")[2].lower()
            values["format"] = BY_SUFFIX.get(suffix, values.get("format"))
        else:
            values["data"] = values.get("text", "").encode()
        if not values["data"].strip() and not self.errors:
            raise forms.ValidationError("Choose a file, or paste its text.")
        values["format"] = values.get("format") or "yaml"
        return values


@dataclass(frozen=True, kw_only=True)
class Line:
    """One task of the file: new, the same, in the way, or what would change of the one there."""

    draft: TaskDraft
    verdict: str
    changes: list[str]


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def import_tasks(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """Everything but `action=import` only shows what would happen."""
    workspace = workspace_row(request, workspace_id, Role.OPERATOR)
    posted = request.method == "POST"
    form = ImportForm(request.POST if posted else None, request.FILES if posted else None)
    context: dict[str, Any] = {"workspace": workspace, "form": form, "example": EXAMPLE}
    if not form.is_valid():
        return render(request, "tasks/import.html", context, status=422 if posted else 200)
    try:
        drafts = _parsed(workspace, form)
    except ImportErrors as errors:
        context |= {"problems": errors.problems, "form": _again(form)}
        return render(request, "tasks/import.html", context, status=422)
    if request.POST.get("action") == "import" and _imported(request, workspace, form, drafts):
        return redirect("workspace", workspace.id)
    lines = preview(workspace, drafts, update=form.cleaned_data["update"])
    context |= {
        "lines": lines[:ROWS_SHOWN],
        "more": max(0, len(lines) - ROWS_SHOWN),
        "counts": {v: sum(line.verdict == v for line in lines) for v in VERDICTS},
        "blocked": any(line.verdict == "in the way" for line in lines),
        "refused": form.non_field_errors(),
        "form": _again(form),
    }
    return render(request, "tasks/import.html", context)


VERDICTS = ("new", "changed", "same", "in the way")


def preview(workspace: Workspace, drafts: Sequence[TaskDraft], *, update: bool) -> list[Line]:
    existing = existing_tasks(workspace, drafts)
    return [_line(draft, existing.get(index), update) for index, draft in enumerate(drafts)]


def _line(draft: TaskDraft, task: Task | None, update: bool) -> Line:  # noqa: FBT001
    if task is None:
        return Line(draft=draft, verdict="new", changes=[])
    if not update:
        return Line(draft=draft, verdict="in the way", changes=[])
    changes = changed_columns(task, draft)
    return Line(draft=draft, verdict="changed" if changes else "same", changes=changes)


def _parsed(workspace: Workspace, form: ImportForm) -> list[TaskDraft]:
    """Raises ImportErrors."""
    values = form.cleaned_data
    return parse_tasks(
        values["data"], format=values["format"], name="file", known=known_names(workspace)
    )


def _imported(
    request: HttpRequest, workspace: Workspace, form: ImportForm, drafts: Sequence[TaskDraft]
) -> bool:
    status = TaskStatus.READY if form.cleaned_data["ready"] else TaskStatus.BACKLOG
    try:
        tasks = import_drafts(
            workspace=workspace, drafts=drafts, status=status, update=form.cleaned_data["update"]
        )
    except DomainError as error:
        blame(form, error)
        return False
    messages.success(request, f"{plural(len(tasks), 'task')} imported.")
    return True


def _again(form: ImportForm) -> ImportForm:
    """The same, with a file's text in the field: a browser does not send a file twice."""
    values = form.cleaned_data
    shown = {name: values[name] for name in ("format", "update", "ready")}
    return ImportForm(initial=shown | {"text": values["data"].decode("utf-8", "replace")})
