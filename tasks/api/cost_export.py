"""/api/v2/costs/export: every call of a range, streamed, as CSV or JSON."""

import csv
import json
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.http import StreamingHttpResponse
from rest_framework.request import Request

from costs import reports
from tasks.api.cost_range import RANGE, asked_range
from tasks.api.costs import CostView
from tasks.api.describe import BYTES, WORKSPACE, asked, describe
from tasks.api.query import refuse

MOST_ROWS = 100_000
FORMATS = ("csv", "json")
# What a spreadsheet takes for a formula, or for the beginning of one.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


class CostExportView(CostView):
    http_method_names = ["get", "options"]

    @describe(
        "export_costs",
        f"Every call of a range, the oldest first; {MOST_ROWS} at most",
        returns=BYTES,
        query=[*WORKSPACE, *RANGE, asked("format", "Which one", enum=FORMATS)],
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        kind = request.GET.get("format", "csv")
        if kind not in FORMATS:
            refuse("format", f"is {' or '.join(FORMATS)}")
        workspace = self.workspace()
        range = asked_range(request, workspace.time_zone)
        rows = reports.exported(workspace.id, range, most=MOST_ROWS)
        written = csv_lines(rows) if kind == "csv" else json_lines(rows)
        response = StreamingHttpResponse(written, content_type="application/octet-stream")
        name = f"costs-{workspace.name}-{range.first}-{range.last}.{kind}"
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        return response


class _Line:
    """What csv writes into: it gives each line back."""

    def write(self, line: str) -> str:
        return line


def csv_lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    writer = csv.writer(_Line())
    yield writer.writerow(reports.EXPORTED)
    for row in rows:
        yield writer.writerow([_cell(row[name]) for name in reports.EXPORTED])


def _cell(value: Any) -> str:
    """Text that a spreadsheet would calculate is shown as text."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return _text(value)
    return f"'{value}" if value.startswith(FORMULAS) else value


def json_lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    """One array; dollars as text, so that no digit is lost."""
    before = "["
    for row in rows:
        yield before + json.dumps({name: _value(row[name]) for name in reports.EXPORTED})
        before = ",\n"
    yield "]\n" if before != "[" else "[]\n"


def _value(value: Any) -> Any:
    if value is None or isinstance(value, str | int | bool):
        return value
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value.isoformat() if isinstance(value, datetime) else str(value)
