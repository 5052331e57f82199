"""What is wanted and what is known: looked at here, changed by the lifecycle alone."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from tasks.admin_kit import AnyModelForm, HistoryAdmin, LargeTableAdmin, act_on_each
from tasks.audit import audit
from tasks.blockers import answer_blocker
from tasks.errors import DomainError
from tasks.events import types
from tasks.lifecycle import move_task
from tasks.members import remove_member
from tasks.models import (
    AuditEntry,
    Blocker,
    Event,
    EventCounter,
    Membership,
    Task,
    TaskDependency,
    Workspace,
)
from tasks.models.blocker import BlockerStatus
from tasks.models.task import TaskStatus

EVENT_TYPES = sorted(
    value for name, value in vars(types).items() if name.isupper() and isinstance(value, str)
)


@admin.register(Workspace)
class WorkspaceAdmin(LargeTableAdmin):
    """Registered and forgotten by `manage.py workspace`, which looks at the repository."""

    list_display = ["name", "repo_path", "host", "gates_waived", "created_at"]
    list_filter = ["gates_waived", "host"]
    search_fields = ["name", "repo_path"]
    fields = [
        "name",
        "repo_path",
        "host",
        "gates",
        "gates_waived",
        "config",
        "created_at",
        "updated_at",
    ]
    readonly_fields = ["repo_path", "gates", "config", "created_at", "updated_at"]

    def view_on_site(self, obj: Workspace) -> str:
        return reverse("workspace", args=[obj.id])

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Workspace | None = None) -> bool:
        return False


@admin.register(Membership)
class MembershipAdmin(LargeTableAdmin):
    list_display = ["user", "workspace", "role", "created_at"]
    list_filter = ["role"]
    list_select_related = ["user", "workspace"]
    search_fields = ["user__username", "workspace__name"]
    autocomplete_fields = ["user", "workspace"]
    ordering = ["-id"]
    id_columns = ["workspace"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Another person is another membership."""
        return ["user", "workspace"] if obj else []

    def save_model(self, request: HttpRequest, obj: Membership, *rest: Any) -> None:
        super().save_model(request, obj, *rest)
        detail = {"user": obj.user.get_username(), "role": obj.role}
        audit(request.user.get_username(), "member.set", obj.workspace.name, detail)

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        by = request.user.get_username()
        remove_member(workspace=obj.workspace, user=obj.user, by=by)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Membership]) -> None:
        for member in queryset.select_related("user", "workspace"):
            self.delete_model(request, member)


@admin.register(Task)
class TaskAdmin(HistoryAdmin):
    list_display = ["short", "title", "status", "priority", "workspace", "key", "updated_at"]
    list_display_links = ["short", "title"]
    list_filter = ["status", "uncertainty_level", "is_leaf", "workspace"]
    list_select_related = ["workspace"]
    search_fields = ["title", "key"]
    ordering = ["-created_at"]
    heavy = ["description", "lineage"]
    actions = ["make_ready", "put_back"]

    @admin.display(description="id")
    def short(self, task: Task) -> str:
        return task.id.hex[:8]

    @admin.action(description="Make READY", permissions=["operate"])
    def make_ready(self, request: HttpRequest, rows: QuerySet[Task]) -> None:
        self._move(request, rows, TaskStatus.READY)

    @admin.action(description="Put back into BACKLOG", permissions=["operate"])
    def put_back(self, request: HttpRequest, rows: QuerySet[Task]) -> None:
        self._move(request, rows, TaskStatus.BACKLOG)

    def _move(self, request: HttpRequest, rows: QuerySet[Task], to: TaskStatus) -> None:
        why = f"set by {request.user.get_username()}"
        act_on_each(
            self,
            request,
            rows,
            lambda task: move_task(task=task, to=to, why=why),
            done=f"moved to {to}",
        )


@admin.register(TaskDependency)
class TaskDependencyAdmin(HistoryAdmin):
    list_display = ["task", "depends_on", "origin"]
    list_filter = ["origin"]
    list_select_related = ["task", "depends_on"]
    search_fields = ["task__title"]
    ordering = ["-id"]
    id_columns = ["task", "depends_on"]


@admin.register(Blocker)
class BlockerAdmin(HistoryAdmin):
    """An open question is answered here; the task then goes on."""

    list_display = ["question", "status", "reason", "task", "created_at", "answered_by"]
    list_filter = ["status"]
    list_select_related = ["task"]
    search_fields = ["question", "reason"]
    ordering = ["-created_at"]
    id_columns = ["pk", "task"]

    def has_change_permission(self, request: HttpRequest, obj: Blocker | None = None) -> bool:
        is_open = obj is None or obj.status == BlockerStatus.OPEN
        return is_open and self.has_operate_permission(request)

    def get_readonly_fields(self, request: HttpRequest, obj: Blocker | None = None) -> list[str]:
        return [name for name in super().get_readonly_fields(request, obj) if name != "answer"]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "answer":
            kwargs["required"] = True
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def save_model(
        self,
        request: HttpRequest,
        obj: Blocker,
        form: AnyModelForm,
        change: bool,  # noqa: FBT001
    ) -> None:
        answer_blocker(
            blocker=obj, answer=form.cleaned_data["answer"], by=request.user.get_username()
        )

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().changeform_view(request, *args, **kwargs)
        except DomainError as error:  # someone else was faster
            self.message_user(request, error.message, messages.ERROR)
            return redirect(request.path)


class EventTypeFilter(admin.SimpleListFilter):
    """The known names; asking the table for them would read all of it."""

    title = "type"
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in EVENT_TYPES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        value = self.value()
        return queryset.filter(type=value) if value else queryset


@admin.register(Event)
class EventAdmin(HistoryAdmin):
    list_display = ["seq", "type", "workspace", "batch_id", "run_id", "task_id", "created_at"]
    list_filter = [EventTypeFilter, "workspace"]
    list_select_related = ["workspace"]
    search_fields = ["type"]
    search_help_text = "Beginning of a batch's or run's id, or a type"
    ordering = ["-id"]
    id_columns = ["batch_id", "run_id"]
    heavy = ["payload"]


@admin.register(EventCounter)
class EventCounterAdmin(HistoryAdmin):
    list_display = ["workspace", "seq"]
    list_select_related = ["workspace"]
    search_fields = ["workspace__name"]
    ordering = ["workspace_id"]


@admin.register(AuditEntry)
class AuditEntryAdmin(HistoryAdmin):
    list_display = ["at", "user", "action", "subject"]
    list_filter = ["action"]
    search_fields = ["user", "subject"]
    ordering = ["-id"]
