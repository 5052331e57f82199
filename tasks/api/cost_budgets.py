"""/api/v2/costs/budgets: the caps of a workspace, and how far each is used up."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from costs import budgets
from costs.ledger import Account
from costs.models import BudgetScope
from tasks.api.base import ApiView
from tasks.api.cost_shapes import BudgetsShape
from tasks.api.describe import WORKSPACE, describe
from tasks.api.fields import StrictDecimal, StrictSerializer, StrictText, read_input
from tasks.models import Workspace
from tasks.models.membership import Role
from tasks.money import change_money


def _dollars() -> StrictDecimal:
    return StrictDecimal(required=False, allow_null=True, max_value=budgets.MOST_USD)


class BudgetsView(ApiView):
    http_method_names = ["get", "patch", "head", "options"]
    writing_role = Role.ADMIN

    class Input(StrictSerializer):
        """Dollars; null takes a cap away, what is left out stays."""

        day = _dollars()
        soft_day = _dollars()
        month = _dollars()
        soft_month = _dollars()
        task = _dollars()
        soft_task = _dollars()
        time_zone = StrictText(max_length=64, required=False)

    @describe(
        "read_budgets",
        "The caps of a workspace, with what is spent of each",
        returns=BudgetsShape,
        query=WORKSPACE,
    )
    def get(self, request: Request) -> Response:
        return Response(shown(self.workspace()))

    @describe(
        "change_budgets",
        "Set, raise, lower or take away the caps of a workspace",
        returns=BudgetsShape,
        takes=Input,
        query=WORKSPACE,
        example={"day": 20, "month": 300, "time_zone": "Europe/Berlin"},
    )
    def patch(self, request: Request) -> Response:
        workspace = self.workspace()
        given = read_input(self.Input, request.data)
        zone = given.pop("time_zone", None)
        by = request.user.get_username()
        workspace = change_money(workspace, given, time_zone=zone, by=by)
        return Response(shown(workspace))


def shown(workspace: Workspace) -> dict[str, Any]:
    account = Account(workspace_id=workspace.id, time_zone=workspace.time_zone)
    measured = [
        _cap(cap.scope, hard=cap.hard, limit=cap.limit_usd, spent=float(round(cap.spent_usd, 6)))
        for cap in budgets.caps_of(account)
    ]
    each = [
        _cap(row.scope, hard=row.hard, limit=row.limit_usd, spent=None)
        for row in budgets.limits_of([workspace.id]).get(workspace.id, [])
        if row.scope == BudgetScope.TASK
    ]
    return {"time_zone": workspace.time_zone, "caps": measured + each}


def _cap(scope: str, *, hard: bool, limit: Any, spent: float | None) -> dict[str, Any]:
    return {"scope": scope, "hard": hard, "limit_usd": float(limit), "spent_usd": spent}
