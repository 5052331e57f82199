"""The product's settings and urls, with views beside them that last as long as a test wants."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

from codeframe_site.settings import *  # noqa: F403

ROOT_URLCONF = "tests.codeframe_site.slow_urls"
GIVE_UP_S = 600


def folder() -> Path:
    return Path(os.environ["SLOW_FOLDER"])


def wait_in_a_thread() -> None:
    """Says that it has begun, and waits for the file `go`."""
    (folder() / "entered").touch()
    deadline = time.monotonic() + GIVE_UP_S
    while not (folder() / "go").exists() and time.monotonic() < deadline:
        time.sleep(0.02)


async def endless_events() -> AsyncIterator[bytes]:
    yield b": begun\n\n"
    (folder() / "entered").touch()
    await asyncio.sleep(GIVE_UP_S)
