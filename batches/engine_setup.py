"""What this server adds to an engine's options: where programs are, what agents may do."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from batches.engines import NAMED
from batches.models import Batch


def kind_of(batch: Batch) -> str:
    """A named command engine is recorded with its argv; other engines carry their own name."""
    return str(batch.engine_options.get("kind", batch.engine))


def with_settings(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Never recorded with a batch: the next host may have other ones."""
    if kind not in NAMED:
        return dict(options)
    own = {"permission": settings.AGENT_PERMISSION}
    if kind == "builtin":
        own |= settings.BUILTIN_OPTIONS
    if program := settings.ENGINE_PROGRAMS.get(kind):
        own["program"] = program
    return own | {name: value for name, value in options.items() if name != "program"}
