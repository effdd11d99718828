"""The compiled rules of all CRDs that have a Conversion object."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from apiext.meta.log import get_logger

if TYPE_CHECKING:
    from apiext.conversionserver.cluster_objects import ClusterObjects
    from apiext.meta.encoding.json_codec import Object
    from apiext.operator.api_clients import Json


class ObjectConverter(Protocol):
    """Converts objects of one CRD between its versions, without waiting."""

    def convert_inline(self, obj: Object, api_version: str) -> Object:
        """Return the object, possibly the same one, in the named version.

        Raises:
            ConversionError: the object cannot be converted.
        """
        ...


Compile = Callable[["Json", "Json"], tuple[ObjectConverter | None, str]]
"""Returns the converter of a CRD, given with its schemas, and its Conversion object, and what is wrong with the rules."""

_LOG: Final = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CompiledConversion:
    """The rules of a CRD."""

    name: str
    """The CRD's."""
    key: Hashable
    """Identifies the CRD and the Conversion object in the state that was compiled."""
    converter: ObjectConverter | None
    """None if the rules cannot be compiled."""
    problem: str
    """What is wrong with the rules, empty if nothing is: only then is the webhook installed."""


class Conversions:
    """Compiles the rules of each Conversion object for its CRD, and again after a change of either.

    Rules that cannot be compiled have no converter, also if an earlier version of them had one: all replicas answer alike, however long
    they run.
    """

    def __init__(
        self, crds: ClusterObjects, conversions: ClusterObjects, read_crd: Callable[[str], Awaitable[Json | None]], compile: Compile
    ) -> None:
        """Create the set. `read_crd` returns a CRD of the cluster with its schemas, None if there is none."""
        self._crds = crds
        self._conversions = conversions
        self._read_crd = read_crd
        self._compile = compile
        self._compiled: dict[str, CompiledConversion] = {}
        self._by_kind: dict[tuple[str, str], str] = {}
        self._was_complete = False

    def get(self, name: str) -> CompiledConversion | None:
        """Return the compiled rules of a CRD, None if it has none."""
        return self._compiled.get(name)

    def find(self, group: str, kind: str) -> CompiledConversion | None:
        """Return the compiled rules of the CRD of a kind, None if it has none."""
        return self._compiled.get(self._by_kind.get((group, kind), ""))

    def has_object(self, name: str) -> bool:
        """Return whether a CRD has a Conversion object, compiled or not."""
        return self._conversions.get(name) is not None

    def usable(self) -> dict[str, bool]:
        """Return for each CRD with a Conversion object whether nothing is wrong with its rules."""
        return {name: not compiled.problem for name, compiled in self._compiled.items()}

    def missing(self) -> list[str]:
        """Return the names of the CRDs whose rules have not been compiled since the start; later changes do not count."""
        if self._was_complete:
            return []
        missing = [name for name in self._conversions.names() if self._crds.get(name) and name not in self._compiled]
        self._was_complete = not missing and self._crds.synced.is_set() and self._conversions.synced.is_set()
        return missing

    async def sync(self, name: str) -> None:
        """Compile the rules of a CRD if it or they have changed.

        Raises:
            ApiError: the CRD cannot be read.
        """
        conversion, summary = self._conversions.get(name), self._crds.get(name)
        crd = await self._read_crd(name) if conversion and summary and not self._is_current(name, summary, conversion) else None
        if conversion is None or summary is None:
            self._forget(name)
        elif crd is not None:
            self._put(await self._compiled_of(crd, conversion), summary)

    def _is_current(self, name: str, crd: Json, conversion: Json) -> bool:
        known = self._compiled.get(name)
        return known is not None and known.key == _key(crd, conversion)

    async def _compiled_of(self, crd: Json, conversion: Json) -> CompiledConversion:
        name, key = crd["metadata"]["name"], _key(crd, conversion)
        # large schemas take long
        converter, problem = await asyncio.to_thread(self._compile, crd, conversion)
        if problem:
            _LOG.warning("conversion rules invalid", crd=name, converting=converter is not None, error=problem)
        else:
            _LOG.info("conversion rules compiled", crd=name, generation=conversion["metadata"].get("generation"))
        return CompiledConversion(name, key, converter, problem)

    def _put(self, compiled: CompiledConversion, crd: Json) -> None:
        self._forget(compiled.name)
        self._compiled[compiled.name] = compiled
        self._by_kind[crd["spec"]["group"], crd["spec"]["names"]["kind"]] = compiled.name

    def _forget(self, name: str) -> None:
        self._compiled.pop(name, None)
        self._by_kind = {kind: other for kind, other in self._by_kind.items() if other != name}


def _key(crd: Json, conversion: Json) -> Hashable:
    return tuple(found["metadata"].get(member) for found in (crd, conversion) for member in ("uid", "generation"))
