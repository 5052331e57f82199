import argparse
import gc
import os
import sys
from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection

from codeframe_site.connections import share_a_pool
from codeframe_site.exposure import is_loopback, refusal
from codeframe_site.sign_in_links import (
    MINUTES,
    local_operator,
    make_link,
    nobody_has_a_password,
)
from tasks.console import EXIT_FAILED, ConsoleCommand, from_zero
from tasks.errors import DomainError
from tasks.text import plural

HIGHEST_PORT = 65535


class Command(ConsoleCommand):
    help = "Serve the pages; on SIGTERM or Ctrl-C, requests under way are finished first."
    requires_system_checks = "__all__"  # type: ignore[assignment]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--bind", default="127.0.0.1", metavar="ADDRESS", help="default: this machine only"
        )
        parser.add_argument(
            "--port",
            type=_port,
            default=str(settings.PORT),
            help="default: CODEFRAME_PORT, else 8000; 0 takes any free one",
        )
        parser.add_argument(
            "--drain",
            type=from_zero("seconds"),
            default=10.0,
            metavar="SECONDS",
            help="how long requests under way may take when it is told to end",
        )

    def run(self, *, bind: str, port: int, drain: float, **_: Any) -> None:
        problem = refusal(bind)
        if problem:
            raise DomainError(problem)
        invitation = _invitation(bind)
        connection.close()
        share_a_pool()
        # Twisted is loaded here, by the one command that needs it.
        from codeframe_site.asgi import application
        from codeframe_site.server import DrainingServer
        from codeframe_site.streams import HUB

        def greet(host: str, real_port: int) -> None:
            self.say(f"codeframe is at {_url(host, real_port)} (Ctrl-C ends it)")
            if invitation:
                self.say(
                    f"sign in once within {MINUTES} minutes, on this machine, at\n"
                    f"  {_url(host, real_port).rstrip('/')}{invitation}"
                )
            self.stdout.flush()

        _settle()
        server = DrainingServer(
            application,
            bind=bind,
            port=port,
            drain_s=drain,
            on_ready=greet,
            on_drain=HUB.drain,
            drained=lambda: not len(HUB),
        )
        server.run()
        if server.problem:
            raise CommandError(server.problem, returncode=EXIT_FAILED)
        if server.cut_off:
            self.stderr.write(f"{plural(server.cut_off, 'request')} did not end in time")
        _leave()


def _settle() -> None:
    """The collector looks no more at what stays for ever: each full look held everything up."""
    gc.collect()
    gc.freeze()


def _invitation(bind: str) -> str:
    """A sign-in link's path for who is at this machine, while nobody else could let them in."""
    if not is_loopback(bind):
        return ""
    return make_link(local_operator()) if nobody_has_a_password() else ""


def _leave() -> NoReturn:
    """The interpreter's own exit crashes in Twisted when an event stream was open."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) <= HIGHEST_PORT):
        raise argparse.ArgumentTypeError(f"{text!r} is no port: give 0 to {HIGHEST_PORT}")
    return int(text)
