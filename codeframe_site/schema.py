"""How drf-spectacular reads our views."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from tasks.api.fields import StrictSerializer


class Schema(AutoSchema):
    """Nested input classes are named after their view; they take no unknown fields."""

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        outer, _, inner = type(serializer).__qualname__.rpartition(".")
        return outer.removesuffix("View") + inner

    def _map_serializer(self, serializer: Any, *rest: Any, **named: Any) -> dict[str, Any]:
        schema: dict[str, Any] = super()._map_serializer(serializer, *rest, **named)  # type: ignore[no-untyped-call]
        if isinstance(serializer, StrictSerializer):
            schema["additionalProperties"] = False
        return schema


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "codeframe_site.auth.TokenAuthentication"
    name = ["bearer", "key"]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, Any]]:
        return [
            {"type": "http", "scheme": "bearer"},
            {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        ]
