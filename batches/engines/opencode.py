"""opencode."""

import json
from typing import Any

from batches.engines.agent_cli import BYPASS, EDITS, AgentEngine, permission
from batches.engines.base import EngineRequest
from batches.engines.environment import server_environment
from batches.engines.opencode_lines import OpencodeParser

_PERMISSION: dict[str, dict[str, str]] = {
    BYPASS: {"*": "allow"},
    EDITS: {"*": "allow", "bash": "deny", "webfetch": "deny"},
}
_READ = {"*": "allow", "edit": "deny", "bash": "deny", "webfetch": "deny"}


class OpencodeEngine(AgentEngine):
    """Its model is `provider/model`; without one it takes what it finds first."""

    name = "opencode"
    program = "opencode"
    package = "npm install -g opencode-ai"
    keys = (
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "GEMINI_API_KEY",
        "GROQ_API_KEY",
        "MISTRAL_API_KEY",
        "DEEPSEEK_API_KEY",
        "OPENCODE_API_KEY",
    )
    passed = ("OPENAI_BASE_URL",)
    logins = (".local/share/opencode/auth.json",)
    parser_class = OpencodeParser

    def arguments(self, request: EngineRequest) -> list[str]:
        # Without a title it asks the model for one, which no count of its shows.
        words = ["run", "--format", "json", "--title", f"codeframe {request.run_id[:8]}"]
        words += ["--model", request.model] if request.model else []
        return words + (["--session", request.session_id] if request.session_id else [])

    def settings(self, request: EngineRequest) -> dict[str, str]:
        return {
            "OPENCODE_CONFIG_CONTENT": json.dumps(_config(request)),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_SHARE": "1",
            "OPENCODE_PURE": "1",
            # At every start with a new home it would fetch a package and what that needs.
            "npm_config_offline": "true",
        }


def _config(request: EngineRequest) -> dict[str, Any]:
    config: dict[str, Any] = {
        "autoupdate": False,
        "share": "disabled",
        "permission": _PERMISSION.get(permission(request), _READ),
    }
    if request.model:
        config |= {"model": request.model, "small_model": request.model}
    address = server_environment().get("OPENAI_BASE_URL")
    if address and request.model.startswith("openai/"):
        config["provider"] = {"openai": _compatible(request.model, address)}
    return config


def _compatible(model: str, address: str) -> dict[str, Any]:
    """An address of one's own speaks the older of the two protocols."""
    name = model.partition("/")[2]
    return {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": address, "apiKey": "{env:OPENAI_API_KEY}"},
        "models": {name: {"name": name, "tool_call": True}},
    }
