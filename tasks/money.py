"""The money of a workspace: its caps and the time zone by which its days go."""

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from costs.budgets import amount_problem, set_cap
from costs.models import BudgetScope
from costs.periods import zone_problem
from costs.sums import recount_periods
from tasks.audit import audit
from tasks.errors import ValidationFailed
from tasks.events import types
from tasks.events.log import record_one
from tasks.models import Workspace

CAPS = {
    "day": (BudgetScope.DAY, True),
    "soft_day": (BudgetScope.DAY, False),
    "month": (BudgetScope.MONTH, True),
    "soft_month": (BudgetScope.MONTH, False),
    "task": (BudgetScope.TASK, True),
    "soft_task": (BudgetScope.TASK, False),
}
LONGEST_MONTH = timedelta(days=32)


def change_money(
    workspace: Workspace,
    caps: Mapping[str, Decimal | None],
    *,
    time_zone: str | None = None,
    by: str = "",
) -> Workspace:
    """None takes a cap away. Raises ValidationFailed.

    With another time zone the sums of this month are made anew; earlier days stay as they were.
    """
    _refuse(caps, time_zone)
    with transaction.atomic():
        workspace = Workspace.objects.select_for_update(no_key=True).get(id=workspace.id)
        for name, usd in caps.items():
            scope, hard = CAPS[name]
            set_cap(scope, workspace.id, usd, hard=hard)
        if time_zone is not None and time_zone != workspace.time_zone:
            Workspace.objects.filter(id=workspace.id).update(time_zone=time_zone)
            recount_periods(workspace.id, time_zone, since=_since())
        told = {name: None if usd is None else float(usd) for name, usd in caps.items()}
        detail = told | ({} if time_zone is None else {"time_zone": time_zone})
        audit(by, "workspace.budget", workspace.name, detail)
        record_one(
            workspace_id=workspace.id,
            type=types.WORKSPACE_BUDGET,
            payload={"changed": detail, "by": by},
        )
    workspace.refresh_from_db()
    return workspace


def _refuse(caps: Mapping[str, Decimal | None], time_zone: str | None) -> None:
    problems: dict[str, list[str]] = {}
    for name, usd in caps.items():
        if usd is not None and (problem := amount_problem(usd)):
            problems[name] = [problem]
    if time_zone is not None and (problem := zone_problem(time_zone)):
        problems["time_zone"] = [problem]
    for name, sentences in problems.items():
        raise ValidationFailed(f"{name}: {sentences[0]}", fields=problems)


def _since() -> date:
    return (timezone.now() - LONGEST_MONTH).date()
