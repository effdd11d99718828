"""Admission in a worker process: the plug-ins run in the server, which has their informers."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from apiext.admission.attributes import Admission, Attributes

if TYPE_CHECKING:
    from collections.abc import Collection

    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.request import AdmissionOperation
    from apiext.workers.server_link import ServerLink

_SEEN: Final = ("name", "generateName")
"""The metadata fields that plug-ins get. No plug-in reads or changes other parts of an object."""


class RemoteAdmission(Admission):
    """Sends admit and validate calls to the server."""

    def __init__(self, link: ServerLink, operations: Collection[AdmissionOperation]) -> None:
        """Create a client for the operations that the server's plug-ins handle."""
        self.operations = frozenset(operations)
        self._link = link

    async def admit(self, attributes: Attributes) -> None:
        """Ask the server to admit.

        Raises:
            StatusError: it rejects the write.
        """
        self._link.ask(Admission.admit, _seen(attributes))

    async def validate(self, attributes: Attributes) -> None:
        """Ask the server to validate.

        Raises:
            StatusError: it rejects the write.
        """
        self._link.ask(Admission.validate, _seen(attributes))


def _seen(attributes: Attributes) -> Attributes:
    return dataclasses.replace(attributes, new=_part(attributes.new), old=_part(attributes.old))


def _part(obj: Object | None) -> Object | None:
    if obj is None:
        return None
    metadata = obj.get("metadata") or {}
    return {"metadata": {name: metadata[name] for name in _SEEN if name in metadata}}
