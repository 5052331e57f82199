"""Model providers by name; each is loaded when it is asked for the first time."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Protocol

from batches.engines.builtin.conversation import Answer, Entry
from batches.engines.builtin.providers.endpoint import Endpoint

PROVIDERS = {
    "anthropic": "batches.engines.builtin.providers.anthropic.Anthropic",
    "openai": "batches.engines.builtin.providers.openai.OpenAI",
}

Heard = Callable[[str], None]
"""Called with text as it streams, and with an empty one for any other sign of life."""


class Provider(Protocol):
    def ask(
        self,
        *,
        system: str,
        entries: Sequence[Entry],
        tools: Sequence[dict[str, Any]],
        most_output: int,
        heard: Heard,
    ) -> Answer:
        """Raises ProviderError, or Broken when a part of the answer had come."""
        ...


def load(name: str, endpoint: Endpoint) -> Provider:
    module, _, attribute = PROVIDERS[name].rpartition(".")
    provider: Provider = getattr(import_module(module), attribute)(endpoint)
    return provider
