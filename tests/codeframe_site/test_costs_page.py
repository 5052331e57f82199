"""The page that shows where the money went."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from costs import plots
from costs.budgets import set_cap
from costs.ledger import Account
from costs.models import BudgetScope
from costs.tokens import Tokens
from tasks.models import Workspace
from tests.codeframe_site.browsing import html
from tests.codeframe_site.rows import batch_row, workspace_row
from tests.costs.charging import charge
from tests.factories import make_task

pytestmark = pytest.mark.django_db

HOSTILE = '<script>alert("x")</script>'


def filled(workspace: Workspace, days: int = 3, agents: int = 8) -> None:
    task = make_task(workspace, HOSTILE)
    batch = batch_row(workspace)
    account = Account(workspace_id=workspace.id, task_id=task.id, batch_id=batch.id)
    for back in range(days):
        for number in range(agents):
            charge(
                account,
                str(Decimal(number + 1) / 7) if number else None,
                agent=f"agent {number} {HOSTILE}",
                at=datetime.now(UTC) - timedelta(days=back),
                tokens=Tokens(input=100, cache_read=300, cache_write=50, output=50),
            )


def test_sums_limits_plots_and_their_tables(page: Client) -> None:
    workspace = workspace_row()
    filled(workspace)
    set_cap(BudgetScope.DAY, workspace.id, Decimal(2))
    text = html(page.get("/costs/"))
    assert "Workspace, a day (stops agents)" in text
    assert "· reached" in text
    assert text.count("<title>") > 10
    assert "cache read" in text
    assert "(60 %)" in text
    assert re.search(r"Unpriced calls</dt><dd class=\"warn\">3<", text)
    for drawing in re.findall(r"<svg.*?</svg>", text, re.S):
        ElementTree.fromstring(drawing.replace("&nbsp;", " "))


def test_nothing_of_an_agent_becomes_markup_and_no_style_is_inline(page: Client) -> None:
    filled(workspace_row())
    text = html(page.get("/costs/"))
    assert "&lt;script&gt;" in text
    assert HOSTILE not in text
    assert " style=" not in text
    assert "<style" not in text


def test_the_change_against_the_days_before(page: Client) -> None:
    account = Account(workspace_id=workspace_row().id)
    now = datetime.now(UTC)
    charge(account, "3", at=now)
    assert "nothing in the 7 days before" in html(page.get("/costs/?days=7"))
    charge(account, "2", at=now - timedelta(days=8))
    assert "▲ $1.00 (50 %) more than the 7 days before" in html(page.get("/costs/?days=7"))
    charge(account, "4", at=now - timedelta(days=9))
    assert "▼ $3.00 (-50 %) less" in html(page.get("/costs/?days=7"))


def test_without_calls_or_workspaces_it_says_so(page: Client) -> None:
    assert "No workspace yet" in html(page.get("/costs/"))
    workspace_row()
    assert "No model call was told" in html(page.get("/costs/"))


@pytest.mark.parametrize(
    "query", ["days=0", "days=x", "from=2026-02-30", "from=2026-02-02&to=2026-01-01", "to=%00"]
)
def test_a_range_that_cannot_be_is_said_on_the_page(page: Client, query: str) -> None:
    workspace_row()
    response = page.get(f"/costs/?{query}")
    assert response.status_code == 422
    assert 'role="alert"' in html(response)


def test_a_workspace_one_may_not_see_is_not_there(page: Client, client: Client) -> None:
    workspace = workspace_row("secret")
    assert page.get(f"/costs/?workspace={workspace.id}").status_code == 200
    assert page.get("/costs/?workspace=1' OR 1").status_code == 404
    assert client.get("/costs/").status_code == 302
    client.force_login(User.objects.create_user("bob"))
    assert client.get(f"/costs/?workspace={workspace.id}").status_code == 404
    assert "secret" not in html(client.get("/costs/"))


def test_its_queries_do_not_grow(
    page: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    workspace = workspace_row()
    filled(workspace, days=1, agents=10)
    with django_assert_num_queries(15):
        page.get("/costs/?days=365")
    filled(workspace, days=100, agents=10)
    with django_assert_num_queries(15):
        page.get("/costs/?days=365")


def test_columns_stand_on_each_other_and_fit(page: Client) -> None:
    days = [datetime(2026, 1, day, tzinfo=UTC).date() for day in range(1, 31)]
    usd = {(day, f"a{n}"): Decimal(n + 1) for day in days for n in range(9)}
    plot = plots.stacked(days, usd)
    assert plot.names == ["a8", "a7", "a6", "a5", "a4", "others"]
    assert sum(bar.usd for bar in plot.bars) == sum(usd.values())
    for day in days:
        column = [bar for bar in plot.bars if bar.label.startswith(day.isoformat())]
        bottom = plot.base
        for bar in column:
            assert abs(bar.y + bar.height - bottom) < 0.1
            bottom = bar.y
        assert bottom >= 0
    assert max(bar.x + bar.width for bar in plot.bars) <= plot.width
    assert plots.stacked(days, {}).bars == []
    assert plots.split({"a": 0, "b": 0}) == []
