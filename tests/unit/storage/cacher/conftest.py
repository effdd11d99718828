"""Fixtures of the watch cache."""

import logging

import pytest

from apiext.storage.cacher import feed


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Retry at once, and suppress the log."""
    monkeypatch.setattr(feed, "_MIN_RETRY_SECONDS", 0.001)
    monkeypatch.setattr(feed, "_PROGRESS_AFTER_SECONDS", 0.001)
    monkeypatch.setattr(feed, "_PROGRESS_INTERVAL_SECONDS", 0.001)
    caplog.set_level(logging.CRITICAL)
