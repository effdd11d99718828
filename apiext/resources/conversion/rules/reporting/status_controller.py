"""Keeps the status of Conversion objects up to date."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.side_thread import aside
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.workqueue import WorkQueue
from apiext.resources.conversion.rules.reporting.status import conversion_status

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.rules.check.report import CheckReport
    from apiext.resources.conversion.rules.reporting.status import RulesUsage

_LOG: Final = get_logger(__name__)
_PAUSES: Final = (0.05, 30.0)
"""Seconds before the first retry, and the longest before later ones."""


class StatusBackend(Protocol):
    """Reads CRDs, and writes statuses. Errors that `retryable` names are tried again."""

    @property
    def retryable(self) -> tuple[type[Exception], ...]:
        """Return the errors of both methods that may pass."""
        ...

    async def definition(self, name: str) -> Object | None:
        """Return a CustomResourceDefinition with its schemas, None if there is none."""
        ...

    async def write_status(self, name: str, status: Object) -> None:
        """Replace the status of a Conversion object. Do nothing if the object is gone."""
        ...

    def usage(self, name: str) -> RulesUsage:
        """Return whether the rules of a CRD are used."""
        ...


class ConversionStatusController:
    """Checks Conversion objects after each change of one, or of its CRD. Its owner calls `put`, `remove` and `definition_changed`."""

    def __init__(self, backend: StatusBackend) -> None:
        self._backend = backend
        self._conversions: dict[str, Object] = {}
        self._queue = WorkQueue(
            self._sync,
            log=_LOG,
            event="status of conversion not written, retrying",
            key_field="conversion",
            retryable=backend.retryable,
            pauses=_PAUSES,
        )
        self._task = asyncio.create_task(self._queue.run(), name="conversion-status-controller")

    async def close(self) -> None:
        """Stop. What is not written is written after the next start."""
        await end_tasks(self._task)

    def put(self, conversion: Object) -> None:
        """Take a new state of a Conversion object, which must not change afterwards."""
        name = conversion["metadata"]["name"]
        self._conversions[name] = conversion
        self._queue.add(name)

    def remove(self, name: str) -> None:
        """Forget a deleted Conversion object."""
        self._conversions.pop(name, None)

    def definition_changed(self, name: str) -> None:
        """Check the Conversion object of a CRD again, after a change of the CRD or of the use of the rules."""
        if name in self._conversions:
            self._queue.add(name)

    async def _sync(self, name: str) -> None:
        conversion = self._conversions.get(name)
        if conversion is None:
            return
        definition = await self._backend.definition(name)
        report = None if definition is None else await aside(partial(_check, conversion, definition))
        status = conversion_status(conversion, report, self._backend.usage(name))
        if status != conversion.get("status"):
            await self._backend.write_status(name, status)


def _check(conversion: Object, definition: Object) -> CheckReport:
    # imported with the first Conversion object
    from apiext.resources.conversion.rules.check.document_check import check_document, crd_schemas

    return check_document(conversion, crd_schemas(definition))[1]
