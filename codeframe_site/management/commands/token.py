import argparse
from datetime import timedelta
from typing import Any

from django.utils import timezone

from codeframe_site.models import ApiToken, Scope
from codeframe_site.tokens import make_token, revoke_token
from tasks.audit import person_at_the_console
from tasks.console import ConsoleCommand, Verbs, at_least
from tasks.lookup import by_prefix, workspace_named
from tasks.members import user_named
from tasks.tables import table

MAX_DAYS = 3650
NAME, USER = 1, 2


class Command(ConsoleCommand):
    help = "Make, list and revoke the keys with which programs use the API."
    epilog = "example:\n  manage.py token create ada --name nightly --scope write --days 90"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        verbs = Verbs(parser)
        create = verbs.add("create", "Make a key; it is printed once and kept nowhere")
        create.add_argument("user", metavar="USER", help="the account it acts for")
        create.add_argument("--name", default="console", help="what it is for, default: console")
        create.add_argument(
            "--scope", choices=Scope.values, default=Scope.READ, help="default: read"
        )
        create.add_argument(
            "--days",
            type=at_least(1, MAX_DAYS),
            metavar="N",
            help="how long it is good, default: until it is revoked",
        )
        create.add_argument(
            "--workspace",
            action="append",
            metavar="WORKSPACE",
            help="only this one (name, path or id); may be given again",
        )
        show = verbs.add("list", "Show tokens, never their keys")
        show.add_argument("--user", default="", metavar="USER", help="only those of this account")
        revoke = verbs.add("revoke", "Make a token useless, at once")
        revoke.add_argument("token", metavar="ID", help="the beginning of its id, as in token list")

    def run(self, *, verb: str, **options: Any) -> None:
        getattr(self, f"_{verb}")(**options)

    def _create(
        self,
        *,
        user: str,
        name: str,
        scope: str,
        days: int | None,
        workspace: list[str] | None,
        **_: Any,
    ) -> None:
        chosen = None if workspace is None else [workspace_named(text) for text in workspace]
        _token, key = make_token(
            user=user_named(user),
            name=name[:100],
            scope=Scope(scope),
            expires_at=timezone.now() + timedelta(days=days) if days else None,
            workspaces=chosen,
            by=person_at_the_console(),
        )
        self.say(key)

    def _list(self, *, user: str, **_: Any) -> None:
        rows = [["ID", "NAME", "USER", "SCOPE", "STATE", "LAST USED"]]
        tokens = ApiToken.objects.select_related("user")
        chosen = tokens.filter(user=user_named(user)) if user else tokens
        rows += [_row(token) for token in chosen]
        for line in table(rows, yielding=(NAME, USER), width=self.width()):
            self.say(line)

    def _revoke(self, *, token: str, **_: Any) -> None:
        found = by_prefix(ApiToken.objects.select_related("user"), token, noun="token")
        revoke_token(found, by=person_at_the_console())
        self.say(f"{found.id.hex[:8]} ({found.name}) is revoked")


def _row(token: ApiToken) -> list[str]:
    used = f"{token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never"
    person, scope = token.user.username, token.scope
    return [token.id.hex[:8], token.name, person, scope, _state(token), used]


def _state(token: ApiToken) -> str:
    if token.revoked_at:
        return "revoked"
    if token.expires_at and token.expires_at <= timezone.now():
        return "expired"
    return f"until {token.expires_at:%Y-%m-%d}" if token.expires_at else "good"
