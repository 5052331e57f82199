"""Work in motion: looked at here, steered by actions that go through the lifecycle."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from batches import lifecycle, recovery
from batches.engines.command import CommandEngine as Adapter
from batches.gates.outcomes import GateOutcome
from batches.models import (
    Batch,
    CommandEngine,
    Environment,
    Finding,
    GateRecord,
    RecipeCommand,
    Run,
    Stage,
    TrustedConfig,
)
from batches.models.batch import StopMode
from batches.models.recipe import Decision
from batches.provisioning.recipe import decide_command
from batches.resuming import resume
from tasks.admin_kit import AnyModelAdmin, AnyModelForm, HistoryAdmin, act_on_each
from tasks.audit import audit

FREE_COMMAND = "command"
"""The engine's name for a command line without a name of its own."""


@admin.register(Batch)
class BatchAdmin(HistoryAdmin):
    list_display = [
        "short_id",
        "workspace",
        "status",
        "reason",
        "completed",
        "total",
        "verification",
        "landing",
        "engine",
        "created_at",
        "finished_at",
    ]
    list_filter = ["status", "verification", "strategy", "workspace"]
    list_select_related = ["workspace"]
    search_fields = ["workspace__name", "reason", "created_by"]
    search_help_text = "Beginning of an id, a workspace, a reason code or a person"
    ordering = ["-created_at"]
    heavy = [
        "message",
        "engine_options",
        "config",
        "environments",
        "landing_detail",
        "verification_reason",
    ]
    actions = ["stop", "cancel", "resume", "recover"]

    def view_on_site(self, obj: Batch) -> str:
        return reverse("batch", args=[obj.id])

    @admin.action(description="Stop: finish what runs, start no more", permissions=["operate"])
    def stop(self, request: HttpRequest, rows: QuerySet[Batch]) -> None:
        self._end(request, rows, StopMode.STOP, done="told to stop")

    @admin.action(description="Cancel: end what runs, keep its work", permissions=["operate"])
    def cancel(self, request: HttpRequest, rows: QuerySet[Batch]) -> None:
        self._end(request, rows, StopMode.CANCEL, done="cancelled")

    @admin.action(description="Resume: run what did not complete", permissions=["operate"])
    def resume(self, request: HttpRequest, rows: QuerySet[Batch]) -> None:
        by = request.user.get_username()
        act_on_each(self, request, rows, lambda batch: resume(batch=batch, by=by), done="resumed")

    @admin.action(description="Recover: send to the queue again", permissions=["operate"])
    def recover(self, request: HttpRequest, rows: QuerySet[Batch]) -> None:
        by = request.user.get_username()

        def recover(batch: Batch) -> None:
            recovery.send_again(batch)
            audit(by, "batch.recover", batch.short_id)

        act_on_each(self, request, rows, recover, done="sent to the queue again")

    def _end(
        self, request: HttpRequest, rows: QuerySet[Batch], mode: StopMode, *, done: str
    ) -> None:
        reason = f"{mode} by {request.user.get_username()} in the admin"

        def end(batch: Batch) -> None:
            lifecycle.cancel_batch(batch_id=batch.id, mode=mode, reason=reason)

        act_on_each(self, request, rows, end, done=done)


@admin.register(Run)
class RunAdmin(HistoryAdmin):
    list_display = [
        "short_id",
        "title",
        "batch",
        "attempt",
        "status",
        "reason",
        "stage",
        "verification",
        "started_at",
        "finished_at",
    ]
    list_display_links = ["short_id", "title"]
    list_filter = ["status", "verification", "superseded"]
    list_select_related = ["batch"]
    search_fields = ["title", "reason"]
    search_help_text = "Beginning of an id of a run, batch or task, a title or a reason code"
    ordering = ["-created_at"]
    id_columns = ["pk", "batch", "task"]
    heavy = ["message", "expected_gates", "environments", "verification_reason", "agent_state"]
    actions = ["stop"]

    def view_on_site(self, obj: Run) -> str:
        return reverse("run", args=[obj.id])

    @admin.action(description="Stop these runs; their batches go on", permissions=["operate"])
    def stop(self, request: HttpRequest, rows: QuerySet[Run]) -> None:
        by = request.user.get_username()
        act_on_each(
            self, request, rows, lambda run: lifecycle.stop_run(run=run, by=by), done="told to stop"
        )


class _OfRunAdmin(HistoryAdmin):
    list_select_related = ["run"]
    ordering = ["-id"]
    id_columns = ["run"]


@admin.register(Stage)
class StageAdmin(_OfRunAdmin):
    list_display = ["run", "name", "outcome", "started_at", "ended_at"]
    list_filter = ["outcome"]
    search_fields = ["name"]
    search_help_text = "Beginning of a run's id, or a stage"
    heavy = ["detail", "commands"]


@admin.register(Finding)
class FindingAdmin(_OfRunAdmin):
    list_display = ["run", "severity", "rule", "path", "created_at"]
    list_filter = ["severity"]
    search_fields = ["rule", "path"]
    search_help_text = "Beginning of a run's id, a rule or a path"
    heavy = ["message"]


class OutcomeFilter(admin.SimpleListFilter):
    title = "outcome"
    parameter_name = "outcome"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(outcome.value, outcome.replace("_", " ")) for outcome in GateOutcome]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset.filter(outcome=value) if value else queryset


@admin.register(GateRecord)
class GateRecordAdmin(HistoryAdmin):
    list_display = ["name", "outcome", "summary", "batch", "run", "duration_s", "created_at"]
    list_filter = [OutcomeFilter]
    list_select_related = ["batch", "run"]
    search_fields = ["name", "summary"]
    search_help_text = "Beginning of an id of a batch or run, a gate or its summary"
    ordering = ["-id"]
    id_columns = ["batch", "run"]
    heavy = ["output_tail", "findings"]


class CommandEngineForm(AnyModelForm):
    class Meta:
        model = CommandEngine
        fields = ["name", "argv", "prompt_via", "pass_env", "usage", "enabled"]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name == FREE_COMMAND:
            raise forms.ValidationError(f"“{name}” is taken by command lines without a name.")
        return name

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        options: dict[str, Any] = {
            name: data[name] for name in ("argv", "prompt_via", "pass_env", "usage") if name in data
        }
        problem = Adapter().check(options) if not self.errors else None
        if problem:
            raise forms.ValidationError(problem.sentence)
        return data


@admin.register(CommandEngine)
class CommandEngineAdmin(AnyModelAdmin):
    """Batches record the command line they were made with, so a change touches new ones only."""

    form = CommandEngineForm
    list_display = ["name", "command_line", "prompt_via", "enabled", "updated_at"]
    list_filter = ["enabled", "prompt_via"]
    search_fields = ["name"]

    @admin.display(description="command")
    def command_line(self, engine: CommandEngine) -> str:
        return " ".join(map(str, engine.argv))


@admin.register(RecipeCommand)
class RecipeCommandAdmin(HistoryAdmin):
    list_display = ["text", "workspace", "decision", "decided_by", "created_at"]
    list_filter = ["decision", "workspace"]
    list_select_related = ["workspace"]
    search_fields = ["text"]
    ordering = ["-id"]
    id_columns = ["run"]
    actions = ["approve", "refuse"]

    @admin.action(description="Approve: replay from the next batch on", permissions=["operate"])
    def approve(self, request: HttpRequest, rows: QuerySet[RecipeCommand]) -> None:
        self._decide(request, rows, Decision.APPROVED)

    @admin.action(description="Refuse: never replay", permissions=["operate"])
    def refuse(self, request: HttpRequest, rows: QuerySet[RecipeCommand]) -> None:
        self._decide(request, rows, Decision.REFUSED)

    def _decide(
        self, request: HttpRequest, rows: QuerySet[RecipeCommand], decision: Decision
    ) -> None:
        by = request.user.get_username()

        def decide(row: RecipeCommand) -> None:
            decide_command(command=row, decision=decision, by=by)

        act_on_each(self, request, rows, decide, done=str(decision))


@admin.register(Environment)
class EnvironmentAdmin(HistoryAdmin):
    list_display = ["tool", "workspace", "host", "bytes", "build_seconds", "last_used_at"]
    list_filter = ["tool", "host"]
    list_select_related = ["workspace"]
    search_fields = ["key", "workspace__name"]
    ordering = ["-last_used_at"]
    id_columns = ["workspace"]


@admin.register(TrustedConfig)
class TrustedConfigAdmin(HistoryAdmin):
    list_display = ["workspace", "digest", "trusted_by", "trusted_at"]
    list_select_related = ["workspace"]
    search_fields = ["digest", "workspace__name"]
    ordering = ["-id"]
    id_columns = ["workspace"]
