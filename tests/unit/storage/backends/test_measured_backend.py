"""A backend whose calls are counted."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import nullcontext

import pytest

from apiext.storage.backend import CompactedError, KeyValue, NotStreamedError, RangeResult, UnavailableError
from apiext.storage.backends.fixed_backend import FixedBackend
from apiext.storage.backends.measured_backend import MeasuredBackend

KEY = "/registry/example.com/widgets/default/one"


class Broken(FixedBackend):
    """A backend whose lists raise `error`, if it is set."""

    error: Exception | None = None

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """Raise the error."""
        if self.error is not None:
            raise self.error
        return await super().list(prefix, start=start, revision=revision, limit=limit)


@pytest.fixture
def inner() -> Broken:
    """Provide the backend behind it."""
    return Broken({KEY: b"{}"}, revision=7)


async def test_labels(inner: Broken) -> None:
    """Count each call by operation, group and resource; keys of kube-apiserver's own kinds have no group."""
    backend = MeasuredBackend(inner, "/registry")
    await backend.get(KEY)
    await backend.list("/registry/example.com/widgets/")
    await backend.count("/registry/leases/")
    await backend.revision()

    counts = {labels: histogram.count for labels, histogram in backend.statistics.durations.items()}
    assert counts == {
        ("get", "example.com", "widgets"): 1,
        ("list", "example.com", "widgets"): 1,
        ("count", "", "leases"): 1,
        ("getCurrentResourceVersion", "", ""): 1,
    }


async def test_errors(inner: Broken) -> None:
    """Count calls without an answer as errors, but no refusals."""
    backend, labels = MeasuredBackend(inner, "/registry"), ("list", "example.com", "widgets")
    for error in (CompactedError(3), UnavailableError("away")):
        inner.error = error
        with pytest.raises(type(error)):
            await backend.list("/registry/example.com/widgets/")

    assert backend.statistics.durations[labels].count == 2
    assert dict(backend.statistics.errors) == {labels: 1}


async def _failing(fault: Exception | None) -> AsyncGenerator[Sequence[KeyValue]]:
    yield [KeyValue(KEY, b"{}", 7)]
    if fault is not None:
        raise fault


async def test_streams(inner: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count a stream as one call, its failure as an error, and one that the server does not have not at all."""
    backend, labels = MeasuredBackend(inner, "/registry"), ("listStream", "example.com", "widgets")
    assert backend.stream("/registry/example.com/widgets/", start="", revision=7) is None
    for fault in (None, CompactedError(3), UnavailableError("away"), NotStreamedError("old")):
        monkeypatch.setattr(inner, "stream", lambda _prefix, fault=fault, **_: _failing(fault))
        found = backend.stream("/registry/example.com/widgets/", start="", revision=7)
        assert found is not None
        with pytest.raises(type(fault)) if fault else nullcontext():
            assert [pair.key async for items in found for pair in items] == [KEY]

    assert backend.statistics.durations[labels].count == 3
    assert dict(backend.statistics.errors) == {labels: 1}


async def test_newest_revision(inner: Broken) -> None:
    """Know the store's newest revision from its answers, or without a request where the store does."""
    assert MeasuredBackend(inner, "/registry").newest_revision == 7
