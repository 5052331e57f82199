import argparse
import os
import signal
import time
from typing import Any

from batches import worker_files
from tasks.console import EXIT_FAILED, ConsoleCommand
from tasks.text import plural

POLL_SECONDS = 0.2


class Command(ConsoleCommand):
    help = "Let this machine's workers finish what they run, claim nothing more, and end."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--timeout", type=float, default=0, help="seconds, 0 is no limit")

    def run(self, *, timeout: float, **_: Any) -> int:
        workers = worker_files.living()
        if not workers:
            self.say("no worker runs on this machine")
            return 0
        for pid in workers:
            os.kill(pid, signal.SIGUSR1)
        self.say(f"{plural(len(workers), 'worker')} told to finish; waiting")
        deadline = time.monotonic() + timeout if timeout else None
        while worker_files.living():
            if deadline is not None and time.monotonic() > deadline:
                self.say("batches still run; the workers end when these do")
                return EXIT_FAILED
            time.sleep(POLL_SECONDS)
        self.say("drained")
        return 0
