"""Fields shared by the endpoints of batches: what goes in, and rows as they are shown."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from batches.models import Batch, CommandEngine, Run
from batches.models.batch import Isolation, Land, OnFailure, Strategy
from batches.money import Money
from batches.options import BOUNDS, MAX_BUDGET, MAX_MODEL
from batches.waiting import why_waiting
from tasks.api.costs import in_dollars
from tasks.api.fields import (
    StrictBoolean,
    StrictDecimal,
    StrictInteger,
    StrictSerializer,
    StrictText,
)

MAX_COMMAND = 20_000
Costs = Mapping[UUID, Decimal]


def _bounded(name: str, **extra: Any) -> StrictInteger:
    low, high = BOUNDS[name]
    return StrictInteger(min_value=low, max_value=high, **extra)


def _dollars(text: str) -> StrictDecimal:
    return StrictDecimal(required=False, allow_null=True, max_value=MAX_BUDGET, help_text=text)


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "enum": ["auto", "none"]},
            {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}},
        ]
    }
)
class GatesField(serializers.Field[Any, Any, Any, Any]):
    """auto, none, or a list of names."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, str | list):
            return data
        raise serializers.ValidationError('must be "auto", "none" or a list of names')

    def to_representation(self, value: Any) -> Any:
        return value


class BatchOptionsInput(StrictSerializer):
    strategy = serializers.ChoiceField(choices=Strategy.values, default=Strategy.SERIAL)
    max_parallel = _bounded("max_parallel", default=4)
    retry_count = _bounded("max_retries", default=0)
    on_failure = serializers.ChoiceField(choices=OnFailure.values, default=OnFailure.CONTINUE)
    engine = StrictText(
        max_length=100,
        default="",
        allow_blank=True,
        help_text="One that is set up; it may be left out where there is only one",
    )
    command = StrictText(
        max_length=MAX_COMMAND,
        default="",
        allow_blank=True,
        help_text="With the engine `command`: a command line, run without a shell; admin only",
    )
    prompt_via = serializers.ChoiceField(
        choices=CommandEngine.PromptVia.values, required=False, help_text="Of `command`"
    )
    pass_env = serializers.ListField(
        child=StrictText(max_length=200),
        required=False,
        max_length=100,
        help_text="Of `command`: variables that it may see",
    )
    isolation = serializers.ChoiceField(choices=Isolation.values, default=Isolation.WORKTREE)
    gates = GatesField(default="auto")
    timeout_s = _bounded("timeout_s", default=3600)
    stall_timeout_s = _bounded("stall_timeout_s", default=300)
    land = serializers.ChoiceField(choices=Land.values, default=Land.AUTO)
    model = StrictText(
        max_length=MAX_MODEL, default="", allow_blank=True, help_text="Empty: the engine's own"
    )
    budget = _dollars("Dollars, over 0, with at most 4 decimals; there what runs is stopped")
    soft_budget = _dollars("There nothing more is started, and what runs may end")
    task_budget = _dollars("What each task may cost, earlier batches counted in")
    allow_unpriced = StrictBoolean(
        default=False, help_text="A budget also where the engine does not say what it costs"
    )


def batch_object(
    batch: Batch,
    runs: Iterable[Run] | None = None,
    costs: Costs | None = None,
    *,
    money: Money | None = None,
) -> dict[str, Any]:
    """With `runs` (the last of each task) and `costs` (of all runs) the results are told too, with
    `money` what the batch has spent by now and whether its provider makes it wait."""
    body: dict[str, Any] = {
        "id": str(batch.id),
        "workspace_id": str(batch.workspace_id),
        "status": batch.status,
        "reason": batch.reason,
        "message": batch.message,
        "waiting": why_waiting(batch),
        "strategy": batch.strategy,
        "max_parallel": batch.max_parallel,
        "retry_count": batch.max_retries,
        "on_failure": batch.on_failure,
        "engine": batch.engine,
        "isolation": batch.isolation,
        "gates": batch.gates,
        "timeout_s": batch.timeout_s,
        "stall_timeout_s": batch.stall_timeout_s,
        "land": batch.land,
        "model": batch.model,
        "budget": float(batch.budget) if batch.budget is not None else None,
        "allow_unpriced": batch.allow_unpriced,
        "verification": batch.verification,
        "verification_reason": batch.verification_reason,
        "landing": batch.landing,
        "landing_detail": batch.landing_detail,
        "branch": batch.branch,
        "base_branch": batch.base_branch,
        "base_commit": batch.base_commit,
        "landed_commit": batch.landed_commit,
        "counts": {
            "total": batch.total,
            "completed": batch.completed,
            "failed": batch.failed,
            "blocked": batch.blocked,
            "skipped": batch.skipped,
            "cancelled": batch.cancelled,
        },
        "round": batch.round,
        "created_by": batch.created_by,
        "created_at": _time(batch.created_at),
        "started_at": _time(batch.started_at),
        "completed_at": _time(batch.finished_at),
    }
    if runs is not None:
        rows, costs = list(runs), costs or {}
        body["task_ids"] = [str(run.task_id) for run in rows if run.task_id]
        body["results"] = {str(run.task_id or run.id): run_object(run, costs) for run in rows}
        body["cost_usd"] = in_dollars(sum(costs.values())) if costs else None
    if money is not None:
        body |= money.of(batch)
    return body


def run_object(run: Run, costs: Costs) -> dict[str, Any]:
    return {
        "run_id": str(run.id),
        "batch_id": str(run.batch_id),
        "task_id": str(run.task_id) if run.task_id else None,
        "title": run.title,
        "status": run.status,
        "reason": run.reason,
        "message": run.message,
        "attempt": run.attempt,
        "round": run.round,
        "superseded": run.superseded,
        "stage": run.stage,
        "verification": run.verification,
        "verification_reason": run.verification_reason,
        "files_changed": run.files_changed,
        "insertions": run.insertions,
        "deletions": run.deletions,
        "commit": run.capture_commit,
        "exit_code": run.exit_code,
        "last_line": run.last_line,
        "output_bytes": run.output_bytes,
        "cost_usd": in_dollars(costs.get(run.id)),
        "created_at": _time(run.created_at),
        "started_at": _time(run.started_at),
        "completed_at": _time(run.finished_at),
        "duration_s": run.seconds,
    }


def _time(value: Any) -> str | None:
    return value.isoformat() if value else None
