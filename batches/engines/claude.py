"""Claude Code."""

import re
import shutil
from pathlib import Path

from batches.engines.agent_cli import BYPASS, EDITS, AgentEngine, is_root, permission
from batches.engines.base import EngineRequest
from batches.engines.claude_lines import ClaudeParser

_PERMISSION = {
    BYPASS: ["--dangerously-skip-permissions"],
    EDITS: ["--permission-mode", "acceptEdits"],
}


class ClaudeEngine(AgentEngine):
    name = "claude"
    program = "claude"
    provider = "anthropic"
    package = "npm install -g @anthropic-ai/claude-code"
    keys = ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN")
    passed = ("ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS")
    logins = (".claude/.credentials.json",)
    parser_class = ClaudeParser
    # Interrupted it still says what it has cost; terminated it does not.
    stop_signal = "SIGINT"

    def arguments(self, request: EngineRequest) -> list[str]:
        words = ["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"]
        words += _PERMISSION.get(permission(request), [])
        if request.model:
            words += ["--model", request.model]
        if request.session_id:
            words += ["--resume", request.session_id]
        return words

    def settings(self, request: EngineRequest) -> dict[str, str]:
        values = {
            "CLAUDE_CONFIG_DIR": str(_config(request.home)),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "2",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
        }
        # As root it refuses to skip permissions unless told that this is no person's machine.
        return values | ({"IS_SANDBOX": "1"} if is_root() else {})

    def has_session(self, home: Path, session_id: str) -> bool:
        return bool(_sessions(home, session_id))

    def write_config(self, request: EngineRequest) -> None:
        """A session is looked for by the folder it was in; the next attempt has another tree."""
        if not request.session_id:
            return
        here = (
            _config(request.home)
            / "projects"
            / re.sub(r"[^A-Za-z0-9]", "-", str(request.tree.resolve()))
        )
        found = _sessions(request.home, request.session_id)
        if found and found[-1].parent != here:
            here.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copy2(found[-1], here / found[-1].name)


def _sessions(home: Path, session_id: str) -> list[Path]:
    """Of each folder that it went on in, the newest last; the id is the agent's own word."""
    name = f"{session_id}.jsonl"
    found = [path for path in (_config(home) / "projects").glob("*/*.jsonl") if path.name == name]
    return sorted(found, key=lambda path: path.stat().st_mtime)


def _config(home: Path) -> Path:
    return home / ".claude"
