import argparse
from typing import Any

from django.contrib.auth.models import User

from codeframe_site.sign_in_links import MINUTES, local_operator, make_link
from tasks.console import ConsoleCommand
from tasks.errors import NotFound
from tasks.members import user_named


class Command(ConsoleCommand):
    help = "Print a link that signs one person in once, from a browser on this machine."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--user", default="", help="default: the first operator")
        parser.add_argument("--port", type=int, default=8000, help="where manage.py web listens")

    def run(self, *, user: str, port: int, **_: Any) -> None:
        person = _active(user) if user else local_operator()
        self.say(f"http://127.0.0.1:{port}{make_link(person)}")
        self.stderr.write(f"it works once, within {MINUTES} minutes, for {person.username}")


def _active(name: str) -> User:
    user = user_named(name)
    if not user.is_active:
        raise NotFound(f"{user.username} may not sign in any more")
    return user
