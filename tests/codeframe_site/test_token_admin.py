"""Tokens in the admin: looked at and revoked, never made, changed, or shown."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from codeframe_site.models import ApiToken
from codeframe_site.tokens import find_token, make_token
from tasks.models import AuditEntry

pytestmark = pytest.mark.django_db
LIST = "/admin/codeframe_site/apitoken/"


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada"))
    return client


def test_neither_key_nor_hash_is_on_a_page(staff: Client) -> None:
    token, key = make_token(user=User.objects.create_user("bob"), name="nightly")
    for path in (LIST, f"{LIST}{token.id}/change/", f"{LIST}?q=nightly", f"{LIST}?q=bob"):
        page = staff.get(path)
        assert page.status_code == 200
        text = page.content.decode()
        assert "nightly" in text
        assert key not in text
        assert token.digest not in text
    guess = staff.get(f"{LIST}?digest__startswith={token.digest[:4]}")
    assert guess.status_code == 400, "no filter finds a hash letter by letter"


def test_none_is_made_changed_or_deleted_there(staff: Client) -> None:
    token, _ = make_token(user=User.objects.get(), name="nightly")
    assert staff.get(f"{LIST}add/").status_code == 403
    assert staff.post(f"{LIST}{token.id}/change/", {"scope": "admin"}).status_code == 403
    assert staff.post(f"{LIST}{token.id}/delete/", {"post": "yes"}).status_code == 403
    token.refresh_from_db()
    assert token.scope == "read"


def test_revoking_is_at_once_and_audited(staff: Client) -> None:
    token, key = make_token(user=User.objects.get(), name="nightly")
    chosen = {"action": "revoke", "_selected_action": [str(token.id)]}
    assert b"1 revoked" in staff.post(LIST, chosen, follow=True).content
    assert find_token(key) is None
    assert AuditEntry.objects.filter(action="token.revoke", user="ada").count() == 1
    staff.post(LIST, chosen)
    assert AuditEntry.objects.filter(action="token.revoke").count() == 1


def test_who_may_only_look_may_not_revoke(client: Client) -> None:
    from django.contrib.auth.models import Permission

    viewer = User.objects.create_user("vera", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_apitoken"))
    client.force_login(viewer)
    make_token(user=viewer, name="nightly")
    token = ApiToken.objects.get()
    client.post(LIST, {"action": "revoke", "_selected_action": [str(token.id)]})
    token.refresh_from_db()
    assert token.revoked_at is None
