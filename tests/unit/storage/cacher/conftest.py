"""What tests of the watch cache share."""

import logging

import pytest

from apiext.storage.cacher import feed
from tests.support.servers.memory_backend import MemoryBackend


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Retries follow at once, and are not shown."""
    monkeypatch.setattr(feed, "_RETRY_AFTER", 0.001)
    monkeypatch.setattr(feed, "_PROGRESS_AFTER", 0.001)
    monkeypatch.setattr(feed, "_PROGRESS_INTERVAL", 0.001)
    caplog.set_level(logging.CRITICAL)


@pytest.fixture
def backend() -> MemoryBackend:
    """A backend that can be told to misbehave."""
    return MemoryBackend()
