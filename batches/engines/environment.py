"""The environment of whatever runs a repository's code: built from nothing, name by name."""

import os
import pwd
import re
import sys
from collections import ChainMap
from collections.abc import Mapping, Sequence
from pathlib import Path

SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")

# Kept from the server when set there. Proxies and CA bundles: without them nothing gets out of
# many networks. TZ: agents and tests print local times.
KEPT = (
    "LANG",
    "LC_ALL",
    "TZ",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
)
FIXED = {"TERM": "dumb", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
HOME_FOLDERS = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_CACHE_HOME": ".cache",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}
PER_RUN = {
    "CODEFRAME_TASK_ID",
    "CODEFRAME_RUN_ID",
    "CODEFRAME_BATCH_ID",
    "CODEFRAME_ATTEMPT",
    "CODEFRAME_PROMPT_FILE",
    "CODEFRAME_WORKSPACE",
    "CODEFRAME_RUN_DIR",
    "CODEFRAME_SETUP_FILE",
    "CODEFRAME_QUESTION_FILE",
    "CODEFRAME_MODEL",
}
NEVER_PASSED = (
    {"PATH", "HOME", "TMPDIR", "USER", "LOGNAME", "CODEFRAME_SECRET_KEY", "CODEFRAME_SECRETS_KEYS"}
    | set(FIXED)
    | set(HOME_FOLDERS)
    | PER_RUN
)

_provided: dict[str, str] = {}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# An agent that commits needs somebody to be, and its home is empty.
_GIT_CONFIG = """\
[user]
\tname = codeframe agent
\temail = agent@codeframe.invalid
[init]
\tdefaultBranch = main
"""


def build_environment(
    *,
    home: Path,
    tmp: Path,
    path: str | None = None,
    pass_env: Sequence[str] = (),
    extra: Mapping[str, str] | None = None,
    source: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """`source` is the server's environment; only names in KEPT and `pass_env` come from it."""
    source = server_environment() if source is None else source
    env = {name: source[name] for name in (*KEPT, *pass_env) if name in source}
    if not (env.get("LANG") or env.get("LC_ALL")):
        env["LANG"] = "C.UTF-8"
    user = _user(source)
    env |= FIXED | {"USER": user, "LOGNAME": user}
    env |= {"PATH": path or server_path(source), "HOME": str(home), "TMPDIR": str(tmp)}
    env |= {name: str(home / folder) for name, folder in HOME_FOLDERS.items()}
    return env | dict(extra or {})


def prepare_folders(*, home: Path, tmp: Path) -> None:
    """Make a private home and a private temporary folder; both may be there from before."""
    for folder in (home, tmp):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    config = home / ".gitconfig"
    if not config.exists():
        config.write_text(_GIT_CONFIG)


def server_environment() -> Mapping[str, str]:
    """To see whether something is set; what a program gets is chosen by build_environment.

    Keys that an operator keeps in the database come before variables of the same name.
    """
    return ChainMap(_provided, os.environ)


def provide(keys: Mapping[str, str]) -> None:
    """From now on as if the server's environment had these; replaces what was provided before."""
    global _provided
    _provided = dict(keys)


def server_path(source: Mapping[str, str] = os.environ) -> str:
    """The server's PATH and the system's, less the server's own virtual environment."""
    own = str(Path(sys.prefix) / "bin") if sys.prefix != sys.base_prefix else None
    entries = (*source.get("PATH", "").split(os.pathsep), *SYSTEM_PATH)
    return absolute_path(os.pathsep.join(e for e in entries if e.rstrip("/") != own))


def absolute_path(path: str) -> str:
    """Without relative entries, which would name programs of the tree that a run stands in."""
    entries = (entry for entry in path.split(os.pathsep) if entry.startswith("/"))
    return os.pathsep.join(dict.fromkeys(entries))


def pass_env_problem(names: object) -> str | None:
    """Why these names cannot be passed through, or None."""
    if not isinstance(names, list | tuple):
        return "pass_env must be a list of variable names."
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            return f"pass_env: {name!r} is not the name of an environment variable."
        if name in NEVER_PASSED:
            return f"pass_env: {name} cannot be passed through."
    return None


def _user(source: Mapping[str, str]) -> str:
    named = source.get("LOGNAME") or source.get("USER")
    if named:
        return named
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container's numeric user has no entry
        return str(os.getuid())
