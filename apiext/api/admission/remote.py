"""Admission in a worker process.

Webhooks and policies are applied there, to the whole objects of a job. The other plug-ins run in the server, which has their informers.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from apiext.api.admission.asked_sources import AdmissionCounts, asked_sources, source_answers
from apiext.api.admission.attributes import Admission, Attributes, Reinvocation
from apiext.api.admission.chain import Chain
from apiext.api.admission.dynamic import DynamicAdmission
from apiext.base.workers.server_link import answers_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.request import AdmissionOperation
    from apiext.base.scheduling.call_log import CallLog
    from apiext.base.workers.server_link import Answers, ServerLink

_SEEN: Final = ("name", "generateName")
"""The metadata fields that plug-ins in the server get. None of them reads or changes other parts of an object."""


class RemoteAdmission(Admission):
    """Sends admit and validate calls to the server, and runs the plug-ins of webhooks and policies here."""

    def __init__(self, link: ServerLink, operations: Collection[AdmissionOperation], dynamic: Collection[str]) -> None:
        """Create the admission: the server's plug-ins handle the operations, and those with the names in `dynamic` run here."""
        self._in_server = frozenset(operations)
        self._link = link
        # jobs share what plug-ins have compiled
        made = link.kept.setdefault(DynamicAdmission, {})
        known: DynamicAdmission | None = made.get(tuple(dynamic))
        if known is None:
            known = made[tuple(dynamic)] = DynamicAdmission(asked_sources(link), dynamic)
        self._stats = known.sources.stats
        self._here = Chain(known.plugins, known, self._stats)

    def handles(self, operation: AdmissionOperation) -> bool:
        """Return whether any plug-in applies to an operation."""
        return operation in self._in_server or self._here.handles(operation)

    @property
    def dynamic(self) -> DynamicAdmission | None:
        """Return the plug-ins that run here."""
        return self._here.dynamic if self._here.plugins else None

    async def admit(self, attributes: Attributes) -> None:
        """Mutate the object of a write.

        Raises:
            StatusError: a plug-in rejects the write.
        """
        if attributes.operation in self._in_server:
            self._link.ask(Admission.admit, _seen(attributes))
        try:
            await self._here.admit(attributes)
        except BaseException:
            self._report()
            raise

    async def validate(self, attributes: Attributes) -> None:
        """Validate a write.

        Raises:
            StatusError: a plug-in rejects the write.
        """
        try:
            await self._here.validate(attributes)
        finally:
            self._report()
        if attributes.operation in self._in_server:
            self._link.ask(Admission.validate, _seen(attributes))

    def _report(self) -> None:
        """Send the counts of this process to the server."""
        if self._here.plugins:
            self._link.ask(AdmissionCounts.add, self._stats.take())


def admission_answers(admission: Admission, log: CallLog | None) -> Answers:
    """Return the server's answers to the questions of a RemoteAdmission."""
    answers = answers_of(Admission, admission.in_server())
    dynamic = admission.dynamic
    return answers if dynamic is None else {**answers, **source_answers(dynamic.sources, log)}


def _seen(attributes: Attributes) -> Attributes:
    return dataclasses.replace(
        attributes, new=_part(attributes.new), old=_part(attributes.old), objects=None, warnings=[], reinvocation=Reinvocation()
    )


def _part(obj: Object | None) -> Object | None:
    if obj is None:
        return None
    metadata = obj.get("metadata") or {}
    return {"metadata": {name: metadata[name] for name in _SEEN if name in metadata}}
