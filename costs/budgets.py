"""Caps, and how far each is used up: one query, whatever was spent before."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from django.db.models import Case, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.fields import CharField, UUIDField

from costs.ledger import Account
from costs.models import Budget, BudgetScope, Spend
from costs.money import ZERO, dollars, of_units
from costs.periods import day_of, month_of

NAMES = {
    BudgetScope.TASK: "the task's spending limit",
    BudgetScope.BATCH: "the batch's spending limit",
    BudgetScope.DAY: "the workspace's spending limit of a day",
    BudgetScope.MONTH: "the workspace's spending limit of a month",
}
MOST_USD = 1_000_000
DECIMALS = 4


@dataclass(frozen=True, kw_only=True)
class Cap:
    scope: BudgetScope
    hard: bool
    limit_usd: Decimal
    spent_usd: Decimal
    unpriced: int

    @property
    def reached(self) -> bool:
        return self.spent_usd >= self.limit_usd

    @property
    def percent(self) -> int:
        return int(self.spent_usd * 100 / self.limit_usd)

    @property
    def sentence(self) -> str:
        name = NAMES[self.scope]
        spent, limit = dollars(self.spent_usd), dollars(self.limit_usd)
        return f"{name[0].upper()}{name[1:]} is reached: {spent} of {limit} spent."


def caps_of(account: Account, *, now: datetime | None = None) -> list[Cap]:
    """Every cap that holds for what is charged to this account, with what is spent of each."""
    return [_cap(row) for row in _with_spend(_holding_for(account), account, now or _now())]


def _now() -> datetime:
    return datetime.now(UTC)


def _holding_for(account: Account) -> QuerySet[Budget]:
    above = [account.workspace_id, account.batch_id]
    scopes = Q(scope__in=(BudgetScope.DAY, BudgetScope.MONTH), subject_id=account.workspace_id)
    scopes |= Q(scope=BudgetScope.BATCH, subject_id=account.batch_id)
    if account.task_id:
        named = [subject for subject in (*above, account.task_id) if subject]
        scopes |= Q(scope=BudgetScope.TASK, subject_id__in=named)
    return Budget.objects.filter(scopes)


def _with_spend(rows: QuerySet[Budget], account: Account, now: datetime) -> QuerySet[Budget]:
    """A cap for each task of a batch or workspace is measured by the one task."""
    task = Value(account.task_id or account.workspace_id, output_field=UUIDField())
    subject = Case(When(scope=BudgetScope.TASK, then=task), default="subject_id")
    period = Case(
        When(scope=BudgetScope.DAY, then=Value(day_of(now, account.time_zone))),
        When(scope=BudgetScope.MONTH, then=Value(month_of(now, account.time_zone))),
        default=Value(""),
        output_field=CharField(),
    )
    rows = rows.annotate(measured=subject, measured_period=period)
    spend = Spend.objects.filter(
        scope=OuterRef("scope"),
        subject_id=OuterRef("measured"),
        period=OuterRef("measured_period"),
    )
    return rows.annotate(
        spent_units=Subquery(spend.values("units")),
        unpriced_calls=Subquery(spend.values("unpriced")),
    ).order_by("scope", "-hard")


def _cap(row: Budget) -> Cap:
    return Cap(
        scope=BudgetScope(row.scope),
        hard=row.hard,
        limit_usd=row.limit_usd,
        spent_usd=of_units(getattr(row, "spent_units", None) or 0),
        unpriced=getattr(row, "unpriced_calls", None) or 0,
    )


# -- setting them --------------------------------------------------------------------------------


def set_cap(
    scope: BudgetScope, subject_id: UUID, usd: Decimal | None, *, hard: bool = True
) -> None:
    """None takes it away. Raises ValueError for an amount that is none."""
    if usd is None:
        Budget.objects.filter(scope=scope, subject_id=subject_id, hard=hard).delete()
        return
    problem = amount_problem(usd)
    if problem:
        raise ValueError(problem)
    Budget.objects.update_or_create(
        scope=scope, subject_id=subject_id, hard=hard, defaults={"limit_usd": usd}
    )


def amount_problem(usd: Decimal) -> str | None:
    """Why this cannot be a cap, or None."""
    fits = usd.is_finite() and ZERO < usd <= MOST_USD and usd == round(usd, DECIMALS)
    return None if fits else f"must be dollars over 0 up to {MOST_USD}, with at most 4 decimals"


def limits_of(subject_ids: Iterable[UUID]) -> dict[UUID, list[Budget]]:
    """The caps set for these themselves, for showing them; one query."""
    found: dict[UUID, list[Budget]] = {}
    for row in Budget.objects.filter(subject_id__in=list(subject_ids)).order_by("scope", "hard"):
        found.setdefault(row.subject_id, []).append(row)
    return found
