"""Reads while a conversion webhook does not answer: they get a warning, and only a limited number of them waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.storage.rendering.waiting_limit import WaitingLimit
from apiext.webhook.waiting_calls import PATIENCE_SECONDS, too_many_waiting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.conversion.circuits import ConversionCircuits
    from apiext.meta.request import RequestInfo
    from apiext.serving.info import ServingInfo

_READS: Final = frozenset({"get", "list"})
WAITING_READERS: Final = WaitingLimit(PATIENCE_SECONDS, 100, too_many_waiting)
"""A quarter of the server's concurrent reads may wait for a silent webhook."""


@dataclass(frozen=True, slots=True, eq=False)
class SilenceNotice:
    """Warns readers of objects that the conversion webhook would not convert at present. Repeats its last call now and then."""

    circuits: ConversionCircuits
    info: ServingInfo

    def __call__(self, request: RequestInfo) -> Sequence[str]:
        """Return the warnings that a request gets."""
        definition = self.info.definition
        circuit = self.circuits.of(definition.name)
        if circuit is None or circuit.error is None or request.verb not in _READS:
            return ()
        # what is stored in the version needs no conversion
        if definition.head["status"]["storedVersions"] == [request.version]:
            return ()
        circuit.probe()
        return (f"the conversion webhook of {definition.name} does not answer: what it converted before is shown, and anything else fails",)
