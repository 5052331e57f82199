"""Whose limits hold for a batch: the provider that its engine calls."""

from collections.abc import Mapping
from typing import Any

OF_ENGINE = {"claude": "anthropic", "codex": "openai", "gemini": "google"}


def provider_of(engine: str, options: Mapping[str, Any], model: str = "") -> str:
    """An engine of several providers names it before the model, or in its options; of a command
    nobody knows it, so that it counts as one of its own."""
    kind = str(options.get("kind", engine))
    if kind in OF_ENGINE:
        return OF_ENGINE[kind]
    named = str(options.get("provider") or model.partition("/")[0] * ("/" in model))
    if named:
        return named[:100]
    return f"command {engine}"[:100] if kind == "command" else kind[:100]
