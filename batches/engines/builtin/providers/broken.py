"""An answer that broke off after the provider had begun to count."""

from batches.engines.builtin.errors import ProviderError
from costs.tokens import Tokens


class Broken(ProviderError):
    """`tokens` is what it told before; the rest of its cost nobody knows."""

    def __init__(
        self, error: ProviderError, *, tokens: Tokens, model: str, provider_id: str
    ) -> None:
        super().__init__(
            error.kind,
            error.text,
            status=error.status,
            retry_after_s=error.retry_after_s,
            final=error.final,
        )
        self.tokens = tokens
        self.model = model
        self.provider_id = provider_id
