"""Errors a person can act on; every interface shows `message` and maps `code`."""

from typing import ClassVar


class DomainError(Exception):
    """One line that says what and where; `fields` names bad fields, each with its sentences."""

    code: ClassVar[str] = "INVALID_REQUEST"
    title: str = ""
    """Short and without particulars; an interface that needs one has a default per code."""

    def __init__(self, message: str, *, fields: dict[str, list[str]] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fields = fields or {}


class NotFound(DomainError):
    code = "NOT_FOUND"


class ValidationFailed(DomainError):
    code = "VALIDATION_ERROR"


class FileRefused(ValidationFailed):
    """Several lines, one per problem; each begins with the file's name and the problem's line."""


class InvalidTransition(DomainError):
    code = "INVALID_STATE"


class Forbidden(DomainError):
    code = "FORBIDDEN"


class Conflict(DomainError):
    code = "CONFLICT"
