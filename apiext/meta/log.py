"""Loggers with fields, as structlog's, that load nothing: structlog takes a quarter of a second, which a quiet start need not spend.

The records go to the standard library's loggers with their fields aside; server/log_output.py has structlog write them.
"""

from __future__ import annotations

import logging
from typing import Any


class Logger:
    """Logs an event, in words that never change, with fields for what does."""

    __slots__ = ("_logger",)

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, event: str, **fields: Any) -> None:
        """What only helps to find a defect."""
        self._logger.debug(event, extra={"fields": fields})

    def info(self, event: str, **fields: Any) -> None:
        """What happens in the normal course."""
        self._logger.info(event, extra={"fields": fields})

    def warning(self, event: str, **fields: Any) -> None:
        """What the server can deal with, but should not have to."""
        self._logger.warning(event, extra={"fields": fields})

    def error(self, event: str, **fields: Any) -> None:
        """What the server cannot deal with."""
        self._logger.error(event, extra={"fields": fields})

    def exception(self, event: str, **fields: Any) -> None:
        """An error, with the exception that is being handled."""
        self._logger.exception(event, extra={"fields": fields})  # noqa: LOG004 -- for a caller that handles an exception


def get_logger(name: str) -> Logger:
    """The logger of a module."""
    return Logger(name)
