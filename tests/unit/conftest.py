"""Fixtures of all unit tests."""

import pytest

from tests.support.servers.memory_backend import MemoryBackend


@pytest.fixture
def backend() -> MemoryBackend:
    """Return an empty backend, which can be made to fail."""
    return MemoryBackend()
