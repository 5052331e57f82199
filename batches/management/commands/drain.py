import argparse
import math
import os
import signal
import time
from typing import Any

from batches import worker_files
from tasks.console import EXIT_FAILED, ConsoleCommand, from_zero
from tasks.text import plural

POLL_SECONDS = 0.2


class Command(ConsoleCommand):
    help = "Let this machine's workers finish what they run, claim nothing more, and end."
    epilog = "exit codes:\n  0 no worker runs any more   1 some still do after --timeout"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--timeout",
            type=from_zero("seconds"),
            default=0.0,
            metavar="SECONDS",
            help="how long to wait for them; 0, the default, is no limit",
        )

    def run(self, *, timeout: float, **_: Any) -> int:
        workers = [pid for pid in worker_files.living() if _tell(pid)]
        if not workers:
            self.say("no worker runs on this machine")
            return 0
        self.say(f"{plural(len(workers), 'worker')} told to finish; waiting")
        deadline = time.monotonic() + timeout if timeout else math.inf
        while worker_files.living():
            if time.monotonic() > deadline:
                self.say("batches still run; the workers end when these do")
                return EXIT_FAILED
            time.sleep(POLL_SECONDS)
        self.say("drained")
        return 0


def _tell(pid: int) -> bool:
    """False for one that has just ended by itself."""
    try:
        os.kill(pid, signal.SIGUSR1)
    except ProcessLookupError:
        return False
    return True
