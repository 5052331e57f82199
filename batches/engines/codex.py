"""Codex."""

import json
from pathlib import Path

from batches.engines.agent_cli import BYPASS, EDITS, AgentEngine, permission
from batches.engines.base import EngineRequest
from batches.engines.codex_lines import CodexParser
from batches.engines.environment import server_environment

KEY = "OPENAI_API_KEY"
ADDRESS = "OPENAI_BASE_URL"
USUAL_ADDRESS = "https://api.openai.com/v1"
RETRIES = 2
_PERMISSION = {
    BYPASS: ["--dangerously-bypass-approvals-and-sandbox"],
    EDITS: ["--sandbox", "workspace-write"],
}
# Both list what is on offer elsewhere, from the network, before any work.
_OFF = ["--disable", "plugins", "--disable", "apps"]


class CodexEngine(AgentEngine):
    name = "codex"
    program = "codex"
    provider = "openai"
    package = "npm install -g @openai/codex"
    keys = (KEY,)
    passed = (ADDRESS,)
    logins = (".codex/auth.json",)
    parser_class = CodexParser

    def arguments(self, request: EngineRequest) -> list[str]:
        words = ["exec"]
        words += ["resume"] if request.session_id else []
        words += ["--json", "--skip-git-repo-check", *_OFF]
        words += self._permission(request)
        words += ["--model", request.model] if request.model else []
        words += [request.session_id] if request.session_id else []
        return [*words, "-"]

    def _permission(self, request: EngineRequest) -> list[str]:
        chosen = permission(request)
        if request.session_id and chosen != BYPASS:  # a resume takes the sandbox from the config
            mode = "workspace-write" if chosen == EDITS else "read-only"
            return ["-c", f"sandbox_mode={json.dumps(mode)}"]
        return _PERMISSION.get(chosen, ["--sandbox", "read-only"])

    def settings(self, request: EngineRequest) -> dict[str, str]:
        return {"CODEX_HOME": str(_config(request.home))}

    def has_session(self, home: Path, session_id: str) -> bool:
        kept = (_config(home) / "sessions").rglob("*.jsonl")
        return any(path.stem.endswith(session_id) for path in kept)

    def write_config(self, request: EngineRequest) -> None:
        folder = _config(request.home)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / "config.toml").write_text(_config_text())


def _config(home: Path) -> Path:
    return home / ".codex"


def _config_text() -> str:
    """With a key, a provider of our own: of the built-in one no retries can be set."""
    lines = ["check_for_update_on_startup = false"]
    environment = server_environment()
    if environment.get(KEY):
        lines.append('model_provider = "codeframe"')
    lines += ["[analytics]", "enabled = false", "[history]", 'persistence = "none"']
    if environment.get(KEY):
        lines += [
            "[model_providers.codeframe]",
            'name = "codeframe"',
            f"base_url = {json.dumps(environment.get(ADDRESS) or USUAL_ADDRESS)}",
            f'env_key = "{KEY}"',
            'wire_api = "responses"',
            f"request_max_retries = {RETRIES}",
            f"stream_max_retries = {RETRIES}",
        ]
    return "\n".join(lines) + "\n"
