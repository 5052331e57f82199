import argparse
import sys
from typing import Any

from django.db import transaction

from costs import secrets
from costs.keyring import KeyringError
from costs.models import Secret
from costs.secrets import SecretError
from tasks.audit import audit, person_at_the_console
from tasks.console import ConsoleCommand, Verbs
from tasks.errors import NotFound, ValidationFailed
from tasks.tables import table
from tasks.text import clip, printable


class Command(ConsoleCommand):
    help = "Keep the keys of providers, encrypted; engines get those that they name."
    epilog = "example:\n  manage.py secret set ANTHROPIC_API_KEY < key.txt"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        verbs = Verbs(parser)
        keep = verbs.add("set", "Keep a value, read from standard input")
        keep.add_argument("name", metavar="NAME", help="the variable that engines know it by")
        verbs.add("list", "Show names, never values")
        forget = verbs.add("delete", "Forget one")
        forget.add_argument("name", metavar="NAME", help="as in secret list")
        verbs.add("rotate", "Encrypt all of them anew, with a new key")

    def run(self, *, verb: str, **options: Any) -> None:
        try:
            getattr(self, f"_{verb}")(**options)
        except (SecretError, KeyringError) as error:
            raise ValidationFailed(str(error)) from error

    def _set(self, *, name: str, **_: Any) -> None:
        # A line feed at the end is of the file or the terminal, not of the key.
        value = sys.stdin.read(secrets.MOST_BYTES + 3).rstrip("\r\n")
        with transaction.atomic():
            made = secrets.set_secret(name, value)
            audit(person_at_the_console(), "secret.set", name)
        self.say(f"{name} is kept" if made else f"{name} is replaced")

    def _list(self, **_: Any) -> None:
        rows = [["NAME", "SINCE", "CHANGED"]]
        for row in Secret.objects.all():
            times = [f"{row.created_at:%Y-%m-%d %H:%M}", f"{row.updated_at:%Y-%m-%d %H:%M}"]
            rows.append([row.name, *times])
        for line in table(rows, yielding=(0,), width=self.width()):
            self.say(line)

    def _delete(self, *, name: str, **_: Any) -> None:
        with transaction.atomic():
            if not secrets.delete_secret(name):
                raise NotFound(f"no such secret: {clip(printable(name), 100)}")
            audit(person_at_the_console(), "secret.delete", name)
        self.say(f"{name} is forgotten")

    def _rotate(self, **_: Any) -> None:
        count = secrets.rotate()
        audit(person_at_the_console(), "secret.rotate", "", {"secrets": count})
        self.say(f"{count} encrypted anew")
