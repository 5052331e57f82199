"""opencode."""

import json
from typing import Any

from batches.engines.agent_cli import BYPASS, EDITS, AgentEngine, permission
from batches.engines.base import EngineRequest
from batches.engines.environment import server_environment
from batches.engines.opencode_lines import OpencodeParser

OWN = "codeframe"
ADDRESS = "OPENAI_BASE_URL"
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
    passed = (ADDRESS,)
    logins = (".local/share/opencode/auth.json",)
    parser_class = OpencodeParser

    def provider_of(self, model: str) -> str:
        named = model.partition("/")[0] if "/" in model else ""
        return "google" if named == "gemini" else named

    def arguments(self, request: EngineRequest) -> list[str]:
        # Without a title it asks the model for one, which no count of its shows.
        words = ["run", "--format", "json", "--title", f"codeframe {request.run_id[:8]}"]
        words += ["--model", _model(request)] if request.model else []
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
    model = _model(request)
    if model:
        config |= {"model": model, "small_model": model}
    if model.startswith(f"{OWN}/"):
        config |= {"provider": {OWN: _compatible(model)}, "enabled_providers": [OWN]}
    return config


def _model(request: EngineRequest) -> str:
    """An address of one's own speaks the older of the two protocols, so it is another provider."""
    if request.model.startswith("openai/") and server_environment().get(ADDRESS):
        return request.model.replace("openai", OWN, 1)
    return request.model


def _compatible(model: str) -> dict[str, Any]:
    name = model.partition("/")[2]
    address = server_environment().get(ADDRESS, "")
    return {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": address, "apiKey": "{env:OPENAI_API_KEY}"},
        "models": {name: {"name": name, "tool_call": True}},
    }
