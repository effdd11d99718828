"""What the server's parts have logged in the process of a test."""

from typing import Any

import pytest


def logged(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The fields of every line, with its event."""
    return [{"event": record.getMessage(), **getattr(record, "fields", {})} for record in caplog.records]
