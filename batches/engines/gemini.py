"""Gemini CLI."""

import json

from batches.engines.agent_cli import BYPASS, EDITS, AgentEngine, permission
from batches.engines.base import EngineRequest
from batches.engines.environment import server_environment
from batches.engines.gemini_lines import GeminiParser

KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_MODE = {BYPASS: "yolo", EDITS: "auto_edit"}


class GeminiEngine(AgentEngine):
    name = "gemini"
    program = "gemini"
    provider = "google"
    package = "npm install -g @google/gemini-cli"
    keys = KEYS
    passed = ("GOOGLE_GEMINI_BASE_URL",)
    logins = (".gemini/oauth_creds.json", ".gemini/google_accounts.json")
    parser_class = GeminiParser

    def arguments(self, request: EngineRequest) -> list[str]:
        words = ["--output-format", "stream-json"]
        words += ["--approval-mode", _MODE.get(permission(request), "default")]
        words += ["--model", request.model] if request.model else []
        return words + (["--resume", request.session_id] if request.session_id else [])

    def settings(self, request: EngineRequest) -> dict[str, str]:
        return {
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            # Else a launcher stands before it, which passes no signal on.
            "GEMINI_CLI_NO_RELAUNCH": "true",
        }

    def write_config(self, request: EngineRequest) -> None:
        folder = request.home / ".gemini"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(_settings()))


def _settings() -> dict[str, object]:
    has_key = any(server_environment().get(name) for name in KEYS)
    kind = "gemini-api-key" if has_key else "oauth-personal"
    return {
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "security": {"auth": {"selectedType": kind}, "folderTrust": {"enabled": False}},
    }
