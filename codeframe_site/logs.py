"""Log lines without secrets."""

import copy
import logging

from costs import redaction


class MaskingFormatter(logging.Formatter):
    """Tracebacks too, for they show values; what was refused is the caller's fault and has none."""

    def format(self, record: logging.LogRecord) -> str:
        if 400 <= getattr(record, "status_code", 0) < 500:
            record = copy.copy(record)
            record.exc_info = record.exc_text = None
        return redaction.text(super().format(record))
