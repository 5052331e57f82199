"""manage.py costs and manage.py secret."""

import io
import json
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import Settings

from costs import secrets
from costs.ledger import Account
from costs.models import Budget
from tasks.models import AuditEntry, Workspace
from tests.codeframe_site.rows import workspace_row
from tests.costs.charging import charge

pytestmark = pytest.mark.django_db

VALUE = "sk-ant-0123456789abcdef"


@pytest.fixture
def shop(db: None) -> Workspace:
    return workspace_row("shop")


def manage(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def refused(*words: str) -> str:
    err = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command(*words, stderr=err)
    assert ended.value.code == 2
    assert len(err.getvalue().splitlines()) == 1
    return err.getvalue()


def test_costs_as_table_json_and_csv(shop: Workspace) -> None:
    charge(Account(workspace_id=shop.id), "1.5", model="big")
    charge(Account(workspace_id=shop.id), None, model="odd")
    shown = manage("costs", "show", "-w", "shop", "--by", "model")
    assert "shop: $1.50" in shown
    assert "1 of them unpriced" in shown
    assert shown.splitlines()[2].split()[:3] == ["big", "$1.50", "1"]
    body = json.loads(manage("costs", "show", "-w", "shop", "--by", "model", "--json"))
    assert body["total_spend_usd"] == 1.5
    assert [row["model"] for row in body["by_model"]] == ["big", "odd"]
    assert len(manage("costs", "export", "-w", "shop").splitlines()) == 3
    assert len(json.loads(manage("costs", "export", "-w", "shop", "--json"))) == 2


def test_limits_are_set_shown_and_taken_away(shop: Workspace) -> None:
    shown = manage("costs", "limit", "-w", "shop", "--day", "4", "--soft-month", "9.5")
    assert "$4.00" in shown
    assert Budget.objects.count() == 2
    zone = manage("costs", "limit", "-w", "shop", "--day", "none", "--time-zone", "Asia/Tokyo")
    assert "Asia/Tokyo" in zone
    assert Budget.objects.get().limit_usd == Decimal("9.5")
    assert AuditEntry.objects.filter(action="workspace.budget").count() == 2


def test_what_makes_no_sense_is_one_sentence(shop: Workspace) -> None:
    assert "no amount" in refused("costs", "limit", "-w", "shop", "--day", "lots")
    assert "over 0" in refused("costs", "limit", "-w", "shop", "--day", "0")
    assert "time zone" in refused("costs", "limit", "-w", "shop", "--time-zone", "Mars")
    assert "--from" in refused("costs", "show", "-w", "shop", "--to", "2026-01-01")
    assert "exclude" in refused("costs", "export", "-w", "shop", "--csv", "--json")


def test_a_secret_comes_from_standard_input_and_is_shown_nowhere(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.STATE_DIR, settings.SECRETS_KEYS = tmp_path, []
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{VALUE}\n"))
    assert manage("secret", "set", "ANTHROPIC_API_KEY") == "ANTHROPIC_API_KEY is kept\n"
    assert secrets.all_secrets() == {"ANTHROPIC_API_KEY": VALUE}
    listed = manage("secret", "list")
    assert "ANTHROPIC_API_KEY" in listed
    assert VALUE not in listed
    assert VALUE not in str(list(AuditEntry.objects.values_list()))
    assert manage("secret", "rotate") == "1 encrypted anew\n"
    assert secrets.all_secrets() == {"ANTHROPIC_API_KEY": VALUE}
    manage("secret", "delete", "ANTHROPIC_API_KEY")
    assert secrets.all_secrets() == {}
    assert "no such secret" in refused("secret", "delete", "ANTHROPIC_API_KEY")
    monkeypatch.setattr("sys.stdin", io.StringIO("short"))
    assert "short" not in refused("secret", "set", "ANTHROPIC_API_KEY")
