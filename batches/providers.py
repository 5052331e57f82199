"""Whose limits hold for a batch: the provider that its engine calls."""

from collections.abc import Mapping
from typing import Any

from batches.engines import load


def provider_of(engine: str, options: Mapping[str, Any], model: str = "") -> str:
    """Where an engine does not say it, its options may; of a command nobody knows it, so that it
    counts as one of its own."""
    kind = str(options.get("kind", engine))
    named = load(kind).provider_of(model) or str(options.get("provider") or "")
    return (named or (f"command {engine}" if kind == "command" else kind))[:100]
