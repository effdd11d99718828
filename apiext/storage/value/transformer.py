"""Transformers of values, and the choice among them by prefix (apiserver pkg/storage/value/transformer.go).

Transformation stats: apiserver pkg/storage/value/metrics.go.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from apiext.base.meta import field
from apiext.base.scheduling.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

FROM_STORAGE: Final = "from_storage"
TO_STORAGE: Final = "to_storage"


OK: Final = "OK"
DURATIONS: Final = tuple(5e-6 * 2**power for power in range(25))
"""Upper bounds of the durations of transformations, in seconds."""


class TransformationStats:
    """Counts transformations. A reload of the configuration adds to them."""

    __slots__ = ("durations", "operations")

    def __init__(self) -> None:
        self.operations: dict[tuple[str, str, str, str], int] = {}
        """Numbers by resource, transformation type, prefix and status."""
        self.durations: dict[tuple[str, str], Histogram] = {}
        """Durations of successful ones, by transformation type and prefix."""

    def record(self, resource: str, type_: str, prefix: str, begun: float, status: str = OK) -> None:
        """Count a transformation that began at a time of `time.perf_counter`; `status` is the code of its error."""
        what = resource, type_, prefix, status
        self.operations[what] = self.operations.get(what, 0) + 1
        if status == OK:
            durations = self.durations.get((type_, prefix))
            if durations is None:
                durations = self.durations[type_, prefix] = Histogram(DURATIONS)
            durations.observe(time.perf_counter() - begun)


class TransformError(Exception):
    """A value cannot be transformed. The message is the reference's, without secrets. `code` is that of a gRPC call, if one failed."""

    def __init__(self, message: str, code: str = "unknown-non-grpc") -> None:
        super().__init__(message)
        self.code = code


class MissingKeyError(Exception):
    """The key of a value is not known yet. Await `fetch`, which may raise TransformError, and transform the value again."""

    def __init__(self, fetch: Callable[[], Awaitable[None]]) -> None:
        super().__init__("the key must be fetched")
        self.fetch = fetch


class Transformer(Protocol):
    """Transforms values of one resource. `context` is authenticated with the value: the complete key in the store.

    Raises:
        TransformError: from both methods, when the value cannot be transformed.
    """

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        """Return the object of a stored value, and whether the value is stale: the next update writes it even without a change.

        Raises:
            MissingKeyError: the key of the value must be fetched first.
        """
        ...

    def to_storage(self, data: bytes, context: bytes) -> bytes:
        """Return the value to store for an object."""
        ...


class PrefixTransformer(NamedTuple):
    """A transformer of the values with a prefix, which it does not see."""

    prefix: bytes
    transformer: Transformer


class PrefixTransformers:
    """Writes with the first transformer, and reads with each one whose prefix matches until one succeeds."""

    __slots__ = ("_error", "_resource", "_stats", "_transformers")

    def __init__(self, transformers: Sequence[PrefixTransformer], error: str, resource: str, stats: TransformationStats) -> None:
        """Create the choice among transformers. `error` is that of a value without a known prefix; `resource` is counted."""
        self._transformers = tuple((index, prefix, prefix.decode(), each) for index, (prefix, each) in enumerate(transformers))
        self._error = error
        self._resource = resource
        self._stats = stats

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        """Implement Transformer.from_storage. A value of any transformer but the first one is stale."""
        begun, problems = time.perf_counter(), dict[str, TransformError]()
        for index, prefix, name, transformer in self._transformers:
            if not data.startswith(prefix):
                continue
            try:
                result, stale = transformer.from_storage(data[len(prefix) :], context)
            except TransformError as error:
                # identity refuses what another provider may have encrypted
                if prefix:
                    self._stats.record(self._resource, FROM_STORAGE, name, begun, error.code)
                    problems[str(error)] = error
                continue
            self._stats.record(self._resource, FROM_STORAGE, name or "identity", begun)
            return result, stale or index > 0
        if not problems:
            unknown = TransformError(self._error)
            self._stats.record(self._resource, FROM_STORAGE, "unknown", begun, unknown.code)
            raise unknown
        raise TransformError(field.aggregate(problems), next(iter(problems.values())).code)

    def to_storage(self, data: bytes, context: bytes) -> bytes:
        """Implement Transformer.to_storage with the first transformer."""
        begun = time.perf_counter()
        _, prefix, name, transformer = self._transformers[0]
        try:
            result = prefix + transformer.to_storage(data, context)
        except TransformError as error:
            self._stats.record(self._resource, TO_STORAGE, name, begun, error.code)
            raise
        self._stats.record(self._resource, TO_STORAGE, name, begun)
        return result
