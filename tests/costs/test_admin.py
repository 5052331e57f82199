from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

from costs import pauses
from costs.ledger import Account
from costs.models import PriceOverride, Usage
from tests.codeframe_site.rows import workspace_row
from tests.costs.charging import charge

pytestmark = pytest.mark.django_db


def test_a_price_is_set_in_the_admin(admin_client: Client) -> None:
    given = {
        "model": "house-1",
        "input_usd": "2.5",
        "output_usd": "0",
        "valid_from_0": "2026-01-01",
        "valid_from_1": "00:00:00",
    }
    answer = admin_client.post("/admin/costs/priceoverride/add/", given)
    assert answer.status_code == 302
    row = PriceOverride.objects.get()
    assert (row.model, row.input_usd, row.cache_read_usd) == ("house-1", Decimal("2.5"), None)
    refused = admin_client.post("/admin/costs/priceoverride/add/", given | {"input_usd": "-1"})
    assert refused.status_code == 200
    assert PriceOverride.objects.count() == 1


def test_usage_is_seen_and_changed_by_no_hand(admin_client: Client) -> None:
    charge(Account(workspace_id=workspace_row().id), "1", model="house-1")
    assert "house-1" in admin_client.get("/admin/costs/usage/").content.decode()
    row = Usage.objects.get()
    assert admin_client.get("/admin/costs/usage/add/").status_code == 403
    changed = admin_client.post(f"/admin/costs/usage/{row.id}/change/", {"cost_usd": "0"})
    assert changed.status_code == 403
    assert admin_client.get("/admin/costs/secret/").status_code == 404


def test_a_pause_is_lifted_by_hand(admin_client: Client) -> None:
    pause = pauses.pause("acme", until=timezone.now() + timedelta(hours=1))
    chosen = {"action": "go_on", "_selected_action": [pause.pk]}
    admin_client.post("/admin/costs/providerpause/", chosen)
    assert pauses.current() == {}
