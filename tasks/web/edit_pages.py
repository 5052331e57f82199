"""Adding and changing tasks; each form works without a script."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from tasks.errors import DomainError, NotFound, ValidationFailed
from tasks.lifecycle import move_task
from tasks.lookup import by_prefix
from tasks.models import Task
from tasks.models.membership import Role
from tasks.models.task import TASK_TRANSITIONS, TaskStatus
from tasks.registry import add_dependency, create_task, drop_dependency, update_task
from tasks.text import clip, storable
from tasks.web.forms import EditTaskForm, NewTaskForm
from tasks.web.rows import say, task_row, workspace_row

OPTIONS_SHOWN = 20
MAX_WORDS = 200
BY_HAND = (TaskStatus.READY, TaskStatus.BACKLOG)
"""States that a button on a page moves a task to; the others come from its runs."""


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new_task(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    workspace = workspace_row(request, workspace_id, Role.OPERATOR)
    form = NewTaskForm(request.POST or None)
    if form.is_valid():
        status = TaskStatus.READY if form.cleaned_data["ready"] else TaskStatus.BACKLOG
        try:
            task = create_task(workspace=workspace, draft=form.draft(), status=status)
        except DomainError as error:
            blame(form, error)
        else:
            messages.success(request, f"“{clip(task.title, 80)}” was added.")
            return redirect("task-new" if "another" in request.POST else "task", _of(request, task))
    context = {"workspace": workspace, "form": form}
    return render(request, "tasks/new.html", context, status=422 if form.errors else 200)


def _of(request: HttpRequest, task: Task) -> UUID:
    return task.workspace_id if "another" in request.POST else task.id


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def edit_task(request: HttpRequest, task_id: UUID) -> HttpResponse:
    task = task_row(request, task_id, Role.OPERATOR)
    form = EditTaskForm.of(task, request.POST or None)
    if form.is_valid():
        try:
            _save(task, form)
        except DomainError as error:
            blame(form, error)
        else:
            return redirect("task", task.id)
    context = {"workspace": task.workspace, "task": task, "form": form}
    return render(request, "tasks/edit.html", context, status=422 if form.errors else 200)


def _save(task: Task, form: EditTaskForm) -> None:
    with transaction.atomic():
        fresh = Task.objects.select_for_update(no_key=True).filter(id=task.id).first()
        if fresh is None:
            raise NotFound("it was deleted meanwhile")
        if form.cleaned_data["seen"] not in ("", fresh.updated_at.isoformat()):
            raise ValidationFailed(
                "it was changed while you edited it; open it in another tab, and save once more "
                "to write over it"
            )
        if changes := form.changes():
            update_task(task=fresh, changes=changes)


@require_POST
@login_required
def move(request: HttpRequest, task_id: UUID) -> HttpResponse:
    task = task_row(request, task_id, Role.OPERATOR)
    named = request.POST.get("status", "")
    if named in BY_HAND:
        say(request, lambda: _moved(task, TaskStatus(named)))
    else:
        messages.error(request, "That is no state a task can be given by hand.")
    return redirect("task", task.id)


def _moved(task: Task, status: TaskStatus) -> str:
    move_task(task=task, to=status, why="set by hand")
    return f"It is {TaskStatus(task.status).label.lower()} now."


def moves_offered(task: Task) -> list[TaskStatus]:
    return [status for status in BY_HAND if status in TASK_TRANSITIONS[TaskStatus(task.status)]]


# -- dependencies --------------------------------------------------------------------------------


@require_POST
@login_required
def depend(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """On the task that `on` names: its id or the beginning of it, its key, its title."""
    task = task_row(request, task_id, Role.OPERATOR)
    text = storable(request.POST.get("on", "").strip()[:MAX_WORDS])
    say(request, lambda: _depended(task, text))
    return redirect("task", task.id)


def _depended(task: Task, text: str) -> str:
    other = _named(task, text)
    add_dependency(task=task, on=other.id)
    return f"It starts after “{clip(other.title, 80)}” now."


def _named(task: Task, text: str) -> Task:
    """Raises NotFound or ValidationFailed."""
    if not text:
        raise ValidationFailed("say which task: by its title, its key or the digits of its id")
    rows = Task.objects.filter(workspace_id=task.workspace_id)
    for exact in ({"key": text}, {"title": text}):
        found = list(rows.filter(**exact)[:2])
        if len(found) == 1:
            return found[0]
        if found:
            raise ValidationFailed("several tasks have this title; give the digits of its id")
    try:
        return by_prefix(rows, text, noun="task")
    except ValidationFailed as error:
        raise NotFound(f"no task is named {clip(text, 80)!r}") from error


@require_POST
@login_required
def undepend(request: HttpRequest, task_id: UUID, other_id: UUID) -> HttpResponse:
    task = task_row(request, task_id, Role.OPERATOR)
    say(request, lambda: _undepended(task, other_id))
    return redirect("task", task.id)


def _undepended(task: Task, other_id: UUID) -> str:
    drop_dependency(task=task, on=other_id)
    return "It does not wait for that task any more."


@require_safe
@login_required
def task_options(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """A few tasks whose titles have these letters, for a field that asks for one."""
    workspace = workspace_row(request, workspace_id)
    words = storable(request.GET.get("on", "").strip()[:MAX_WORDS])
    rows = Task.objects.filter(workspace=workspace, title__icontains=words)
    found = rows.only("id", "title", "status")[:OPTIONS_SHOWN] if words else []
    return render(request, "tasks/options.html", {"tasks": found})


def blame(form: Form, error: DomainError) -> None:
    """A refusal, at the fields it names; else at the form."""
    known = {name: sentences for name, sentences in error.fields.items() if name in form.fields}
    for name, sentences in known.items():
        for sentence in sentences:
            form.add_error(name, sentence)
    if not known:
        form.add_error(None, error.message)
