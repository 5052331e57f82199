"""Log lines without secrets."""

import logging

from costs import redaction


class MaskingFormatter(logging.Formatter):
    """Tracebacks too, for they show values."""

    def format(self, record: logging.LogRecord) -> str:
        return redaction.text(super().format(record))
