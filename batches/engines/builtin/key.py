"""The provider's key: read once from the environment, and then nowhere to be found in it."""

import ctypes
import os


def take_key(name: str) -> tuple[str, dict[str, str]]:
    """The key, and the environment without it, for what the agent starts."""
    env = dict(os.environ)
    key = env.pop(name, "") if name else ""
    if key:
        _wipe(name)
        os.environ.pop(name, None)
    return key.strip(), env


def _wipe(name: str) -> None:
    """/proc/PID/environ shows the block the process was started with to all of its account."""
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_void_p
    place = getenv(name.encode())
    if place:
        ctypes.memset(place, ord("x"), len(ctypes.string_at(place)))
