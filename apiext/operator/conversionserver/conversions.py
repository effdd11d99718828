"""The compiled rules of all CRDs that have a Conversion object."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from apiext.base.meta.log import get_logger
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.building import build_rules, problem_text
from apiext.resources.conversion.rules.check.document_check import check_compiled, crd_schemas
from apiext.resources.conversion.rules.finish import finisher
from apiext.resources.conversion.rules.interface import UNKNOWN
from apiext.resources.conversion.rules_in_use import was_in_use

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.operator.api_clients import Json
    from apiext.operator.conversionserver.cluster_objects import ClusterObjects
    from apiext.resources.conversion.rules.converter import RulesConverter
    from apiext.schema.compiled import CompiledSchema


class ObjectConverter(Protocol):
    """Converts objects of one CRD between its versions, without waiting."""

    def convert_inline(self, obj: Object, api_version: str) -> Object:
        """Return the object, possibly the same one, in the named version. Change no object or list in the given one.

        Raises:
            ConversionError: the object cannot be converted.
        """
        ...


class MadeConverter(NamedTuple):
    """The converter of a CRD by the rules of its Conversion object."""

    converter: ObjectConverter
    problem: str = ""
    """What is wrong with the rules, empty if nothing is."""
    converts: bool = True
    """Whether the rules convert. If not, each conversion fails with the reason."""


class Compile(Protocol):
    """Makes converters."""

    def __call__(self, crd: Json, conversion: Json, /, *, in_use: bool) -> MadeConverter:
        """Return the converter of a CRD, given with its schemas, and its Conversion object. A problem does not stop rules `in_use`."""
        ...


_LOG: Final = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CompiledConversion:
    """The rules of a CRD."""

    name: str
    """The CRD's."""
    key: Hashable
    """Identifies the CRD and the Conversion object in the state that was compiled."""
    rules: Hashable
    """Identifies the state of the Conversion object alone."""
    converter: ObjectConverter
    problem: str
    """What is wrong with the rules, empty if nothing is: only then is the webhook installed."""
    converts: bool
    """As in MadeConverter."""


class Conversions:
    """Compiles the rules of each Conversion object for its CRD, and again after a change of either.

    Rules with a problem do not begin to convert, and those of an earlier state are used no more: all replicas answer alike, however long
    they run. Rules that are in use, here or by the status of their object, go on when their CRD changes.
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

    def converts(self, name: str) -> bool:
        """Return whether the rules of a CRD convert: before they are compiled, whether they did by the status of their object."""
        conversion, compiled = self._conversions.get(name), self._compiled.get(name)
        if conversion is None or compiled is None or compiled.rules != _key(conversion):
            return conversion is not None and was_in_use(conversion)
        return compiled.converts

    def has_object(self, name: str) -> bool:
        """Return whether a CRD has a Conversion object, compiled or not."""
        return self._conversions.get(name) is not None

    def usable(self) -> dict[str, bool]:
        """Return for each CRD with a Conversion object whether nothing is wrong with its rules. Any thread may call it."""
        return {name: not compiled.problem for name, compiled in self._compiled.copy().items()}

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
        if conversion is None or summary is None:
            self._forget(name)
            return
        known = self._compiled.get(name)
        # a later status may say that refused rules are in use
        is_resumed = known is not None and not known.converts and was_in_use(conversion)
        if known is None or known.key != _key(summary, conversion) or is_resumed:
            crd = await self._read_crd(name)
            known = None if crd is None else await self._compiled_of(crd, conversion)
        if known is not None:
            # also without a new generation: the accepted kind changes in the status
            self._put(known, summary)

    async def _compiled_of(self, crd: Json, conversion: Json) -> CompiledConversion:
        name, rules = crd["metadata"]["name"], _key(conversion)
        known = self._compiled.get(name)
        in_use = was_in_use(conversion) or (known is not None and known.rules == rules and known.converts)
        # large schemas take long
        made = await asyncio.to_thread(self._compile, crd, conversion, in_use=in_use)
        if made.problem:
            _LOG.warning("conversion rules invalid", crd=name, converting=made.converts, error=made.problem)
        else:
            _LOG.info("conversion rules compiled", crd=name, generation=conversion["metadata"].get("generation"))
        return CompiledConversion(name, _key(crd, conversion), rules, made.converter, made.problem, made.converts)

    def _put(self, compiled: CompiledConversion, crd: Json) -> None:
        self._forget(compiled.name)
        self._compiled[compiled.name] = compiled
        self._by_kind[crd["spec"]["group"], crd["spec"]["names"]["kind"]] = compiled.name

    def _forget(self, name: str) -> None:
        self._compiled.pop(name, None)
        self._by_kind = {kind: other for kind, other in self._by_kind.items() if other != name}


def _key(*objects: Json) -> Hashable:
    return tuple(found["metadata"].get(member) for found in objects for member in ("uid", "generation"))


def compile_conversion(crd: Json, conversion: Json, *, in_use: bool) -> MadeConverter:
    """Implement Compile with the code of the server. Take seconds for very large rules: all pairs of versions are compiled."""
    schemas = crd_schemas(crd)
    storage = next(version["name"] for version in crd["spec"]["versions"] if version["storage"])
    built = build_rules(crd["metadata"]["name"], conversion, schemas, storage, in_use=in_use, sees_writes=False)
    if built.converts:
        for source, target in permutations(schemas, 2):
            # the conversions between these two say so
            with suppress(ConversionError):
                built.compiled.transformation(source, target)
    if built.rules is not None:
        check_compiled(built.rules, built.compiled, built.report)
    return MadeConverter(PruningConverter(built.converter, schemas), problem_text(built.report), built.converts)


class PruningConverter:
    """Implements ObjectConverter: prunes objects by the schema of their version, as rules expect them.

    kube-apiserver prunes when objects are written, and sends them as they are stored, also after the schema has changed.
    """

    def __init__(self, converter: RulesConverter, schemas: Mapping[str, CompiledSchema]) -> None:
        self._converter = converter
        self._prune: Final = {version: finisher(schema) for version, schema in schemas.items()}

    def convert_inline(self, obj: Object, api_version: str) -> Object:
        """Implement ObjectConverter.convert_inline."""
        version = obj["apiVersion"].rpartition("/")[2]
        if version not in self._prune:
            raise ConversionError(f"the CRD has no version {version}")
        self._prune[version](obj, UNKNOWN)
        return self._converter.convert_inline(obj, api_version)
