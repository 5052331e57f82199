"""Input fields that take what they say and nothing that merely looks like it."""

from decimal import Decimal
from typing import Any
from uuid import UUID

from rest_framework import serializers

MAX_INT = 2**31 - 1
MAX_IDS = 10_000
MAX_NUMBER = 1e300
"""Also whole numbers that no float can be, and NaN, which is not less than anything."""


class StrictSerializer(serializers.Serializer[Any]):
    """Unknown fields are refused: a misspelt option must not be ignored in silence."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = sorted(str(name) for name in data.keys() - self.fields.keys())
            if unknown:
                raise serializers.ValidationError(
                    {name: ["there is no such field"] for name in unknown}
                )
        return super().to_internal_value(data)


class StrictInteger(serializers.IntegerField):
    """No booleans, no texts, no fractions."""

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            self.fail("invalid")
        return int(super().to_internal_value(data))


class StrictNumber(serializers.FloatField):
    """Finite; no booleans and no texts, not even those that read as a number."""

    def to_internal_value(self, data: Any) -> float:
        if type(data) not in (int, float) or not -MAX_NUMBER < data < MAX_NUMBER:
            self.fail("invalid")
        return float(super().to_internal_value(data))


class StrictDecimal(StrictNumber):
    """A number as it was written, not as it is kept in binary."""

    def to_internal_value(self, data: Any) -> Decimal:  # type: ignore[override]
        return Decimal(repr(super().to_internal_value(data)))


class StrictBoolean(serializers.BooleanField):
    def to_internal_value(self, data: Any) -> bool:
        if type(data) is not bool:
            self.fail("invalid", input=data)
        return bool(data)


class StrictText(serializers.CharField):
    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


class StrictId(serializers.UUIDField):
    """As text only: a number is no id, although one can be made of it."""

    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str):
            self.fail("invalid", value=data)
        return UUID(str(super().to_internal_value(data)))


def id_list(**extra: Any) -> serializers.ListField:
    """Ids, of which there may be many and none."""
    bounds = {"required": False, "max_length": MAX_IDS}
    return serializers.ListField(child=StrictId(), **(bounds | extra))


def read_input(serializer: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
    """Validated; DRF's ValidationError becomes 422 in the one error shape."""
    bound = serializer(data=data)
    bound.is_valid(raise_exception=True)
    return dict(bound.validated_data)
