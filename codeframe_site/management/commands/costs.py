import argparse
import json as jsons
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from costs import budgets, reports
from costs.ledger import Account
from costs.money import dollars
from costs.periods import Range, last_days
from tasks.api.cost_export import MOST_ROWS, csv_lines, json_lines
from tasks.api.cost_range import DEFAULT_DAYS, MAX_DAYS
from tasks.api.costs import in_dollars
from tasks.audit import person_at_the_console
from tasks.console import ConsoleCommand, Verbs, at_least
from tasks.errors import ValidationFailed
from tasks.lookup import workspace_named
from tasks.models import Workspace
from tasks.money import CAPS, change_money
from tasks.tables import table

BY = {"agent": "agent", "model": "model", "task": "task_id", "batch": "batch_id"}


class Command(ConsoleCommand):
    help = "See what models have cost, and set spending limits."
    epilog = "example:\n  manage.py costs show -w shop --days 7 --by model"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        verbs = Verbs(parser)
        show = _of_workspace(verbs, "show", "Show what a workspace has spent")
        _add_range(show)
        show.add_argument("--by", choices=list(BY), default="agent", help="default: agent")
        show.add_argument("--json", action="store_true", help="as JSON")
        export = _of_workspace(verbs, "export", "Print every call of a range")
        _add_range(export)
        export.add_argument("--csv", action="store_true", help="as CSV, which is the default")
        export.add_argument("--json", action="store_true", help="as JSON")
        limit = _of_workspace(verbs, "limit", "Show the spending limits, and set those given")
        for name in CAPS:
            limit.add_argument(
                f"--{name.replace('_', '-')}", metavar="DOLLARS", help="an amount, or none"
            )
        limit.add_argument("--time-zone", metavar="ZONE", help="whose days count, like UTC")

    def run(self, *, verb: str, workspace: str, **options: Any) -> None:
        getattr(self, f"_{verb}")(workspace_named(workspace), **options)

    def _show(self, workspace: Workspace, *, by: str, json: bool, **options: Any) -> None:
        range = _range(workspace, **options)
        summary = reports.summary(workspace.id, range)
        rows = reports.by(BY[by], workspace.id, range)
        if json:
            body = {**summary, f"by_{by}": [_named(row) for row in rows]}
            self.say(jsons.dumps(in_dollars(body)))
            return
        self.say(
            f"{workspace.name}: {dollars(summary['total_spend_usd'])} from {range.first} to "
            f"{range.last} ({range.time_zone}), {summary['call_count']} calls, "
            f"{summary['unpriced_calls']} of them unpriced"
        )
        lines = [[by.upper(), "COST", "CALLS", "UNPRICED", "INPUT", "CACHED", "OUTPUT"]]
        lines += [_cells(row, BY[by]) for row in rows]
        for line in table(lines, right=(1, 2, 3, 4, 5, 6), yielding=(0,), width=self.width()):
            self.say(line)

    def _export(self, workspace: Workspace, *, csv: bool, json: bool, **options: Any) -> None:
        if csv and json:
            raise ValidationFailed("--csv and --json exclude each other")
        rows = reports.exported(workspace.id, _range(workspace, **options), most=MOST_ROWS)
        for piece in json_lines(rows) if json else csv_lines(rows):
            self.stdout.write(piece, ending="")

    def _limit(self, workspace: Workspace, *, time_zone: str | None, **options: Any) -> None:
        given = {name: _amount(name, options[name]) for name in CAPS if options[name] is not None}
        if given or time_zone is not None:
            by = person_at_the_console()
            workspace = change_money(workspace, given, time_zone=time_zone, by=by)
        account = Account(workspace_id=workspace.id, time_zone=workspace.time_zone)
        lines = [["LIMIT", "KIND", "SPENT", "OF"]]
        for cap in budgets.caps_of(account):
            amounts = [dollars(cap.spent_usd), dollars(cap.limit_usd)]
            lines.append([str(cap.scope), "hard" if cap.hard else "soft", *amounts])
        for row in budgets.limits_of([workspace.id]).get(workspace.id, []):
            if row.scope == "task":
                kind = "hard" if row.hard else "soft"
                lines.append(["each task", kind, "–", dollars(row.limit_usd)])
        self.say(f"{workspace.name}: days of {workspace.time_zone}")
        for line in table(lines, right=(2, 3), width=self.width()):
            self.say(line)


def _of_workspace(verbs: Verbs, name: str, sentence: str) -> argparse.ArgumentParser:
    parser = verbs.add(name, sentence)
    parser.add_argument("--workspace", "-w", required=True, metavar="NAME", help="name, path or id")
    return parser


def _add_range(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--days",
        type=at_least(1, MAX_DAYS),
        default=DEFAULT_DAYS,
        metavar="N",
        help=f"the last so many, today included, default: {DEFAULT_DAYS}",
    )
    parser.add_argument("--from", dest="first", type=_day, metavar="DAY", help="like 2026-01-31")
    parser.add_argument("--to", dest="last", type=_day, metavar="DAY", help="default: today")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day like 2026-01-31") from None


def _range(
    workspace: Workspace, *, days: int, first: date | None, last: date | None, **_: Any
) -> Range:
    recent = last_days(days, workspace.time_zone)
    if first is None:
        if last is not None:
            raise ValidationFailed("--to needs --from")
        return recent
    found = Range(first=first, last=last or recent.last, time_zone=workspace.time_zone)
    if not 1 <= found.days <= MAX_DAYS:
        raise ValidationFailed(f"--to: must be from the first day on, at most {MAX_DAYS} days")
    return found


def _amount(name: str, text: str) -> Any:
    if text == "none":
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        flag = f"--{name.replace('_', '-')}"
        raise ValidationFailed(f"{flag}: {text!r} is no amount of dollars") from None


def _named(row: dict[str, Any]) -> dict[str, Any]:
    return {name: str(value) if name.endswith("_id") else value for name, value in row.items()}


def _cells(row: dict[str, Any], field: str) -> list[str]:
    cached = row["cache_read_tokens"] + row["cache_write_tokens"]
    counts = (row["call_count"], row["unpriced_calls"], row["input_tokens"], cached)
    numbers = [*counts, row["output_tokens"]]
    return [str(row[field]), dollars(row["total_cost_usd"]), *(str(n) for n in numbers)]
