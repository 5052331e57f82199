"""Ids in paths: whole, or an unambiguous beginning of one as commands and pages show it."""

from uuid import UUID

from django.urls import register_converter


class ShortId:
    """Gives a UUID, or the text of a shorter one, which only a look at the rows can complete."""

    regex = "[0-9a-fA-F-]{4,36}"

    def to_python(self, value: str) -> UUID | str:
        """Raises ValueError, which is 404: no id begins like that."""
        digits = value.replace("-", "").lower()
        if not 4 <= len(digits) <= 32:
            raise ValueError(value)
        return UUID(digits) if len(digits) == 32 else digits

    def to_url(self, value: UUID | str) -> str:
        return str(value)


register_converter(ShortId, "short_id")
