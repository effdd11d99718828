"""Fixtures of all unit tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.conversion_webhook import ConversionWebhook, conversion_webhook
from tests.support.servers.memory_backend import MemoryBackend


@pytest.fixture
def backend() -> MemoryBackend:
    """Return an empty backend, which can be made to fail."""
    return MemoryBackend()


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[ConversionWebhook]:
    """Run a conversion webhook, which changes nothing but the version; tests replace its answer."""
    with conversion_webhook(tmp_path) as running:
        yield running
