"""Reads what the server's modules logged in the process of a test."""

from typing import Any

import pytest


def logged(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Return the fields of every log line, with its event."""
    return [{"event": record.getMessage(), **getattr(record, "fields", {})} for record in caplog.records]
