"""manage.py token, and the members of manage.py workspace."""

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from codeframe_site.models import ApiToken
from codeframe_site.tokens import find_token
from tasks.models import AuditEntry, Membership
from tests.codeframe_site.rows import workspace_row

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _people(db: None) -> None:
    for name in ("ada", "bob"):
        User.objects.create_user(name)


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


def test_a_key_is_printed_once_and_shown_nowhere() -> None:
    key = manage("token", "create", "ada", "--name", "nightly", "--scope", "write").strip()
    token = find_token(key)
    assert token is not None
    assert (token.user.username, token.name, token.scope) == ("ada", "nightly", "write")
    assert (token.limited, token.expires_at) == (False, None)
    listed = manage("token", "list")
    assert "nightly" in listed
    assert "good" in listed
    assert key not in listed
    assert key not in str(AuditEntry.objects.values_list())
    assert "(console)" in AuditEntry.objects.get(action="token.create").user


def test_a_token_may_be_limited_in_place_and_time() -> None:
    workspace = workspace_row("shop")
    key = manage("token", "create", "ada", "--workspace", "shop", "--days", "2").strip()
    token = find_token(key)
    assert token is not None
    assert token.limited
    assert list(token.workspaces.all()) == [workspace]
    assert token.expires_at is not None
    assert f"until {token.expires_at:%Y-%m-%d}" in manage("token", "list")
    assert "nowhere" in refused("token", "create", "ada", "--workspace", "nowhere")
    assert ApiToken.objects.count() == 1


def test_a_token_is_revoked_by_the_beginning_of_its_id() -> None:
    key = manage("token", "create", "ada").strip()
    token = ApiToken.objects.get()
    assert "is revoked" in manage("token", "revoke", token.id.hex[:8])
    assert find_token(key) is None
    assert "revoked" in manage("token", "list")
    assert manage("token", "list", "--user", "bob").count("\n") == 1
    assert AuditEntry.objects.filter(action="token.revoke").count() == 1


@pytest.mark.parametrize(
    "words",
    [
        ("token", "create", "eve"),
        ("token", "list", "--user", "eve"),
        ("token", "revoke", "ffffffff"),
        ("workspace", "add-member", "shop", "eve"),
        ("workspace", "add-member", "nowhere", "ada"),
        ("workspace", "remove-member", "shop", "bob"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(words: tuple[str, ...]) -> None:
    workspace_row("shop")
    refused(*words)
    assert AuditEntry.objects.count() == 0


def test_members_come_change_and_go() -> None:
    workspace_row("shop")
    assert "ada is viewer of shop" in manage("workspace", "add-member", "shop", "ada")
    manage("workspace", "add-member", "shop", "ada", "--role", "operator")
    assert Membership.objects.get().role == "operator"
    assert "operator" in manage("workspace", "members", "shop")
    manage("workspace", "remove-member", "shop", "ada")
    assert Membership.objects.count() == 0
    actions = AuditEntry.objects.order_by("id").values_list("action", flat=True)
    assert list(actions) == ["member.set", "member.set", "member.remove"]
