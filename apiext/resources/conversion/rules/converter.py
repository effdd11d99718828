"""Conversion by rules, with what the rules cannot express carried."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Final, Self

from apiext.base.scheduling.time_slice import Pace
from apiext.resources.conversion.interface import ConversionError, Converter, UnstorableError
from apiext.resources.conversion.rules.carried import annotation
from apiext.resources.conversion.rules.carried.annotation import IRREVERSIBLE, TOO_LARGE, CarrierSizeError
from apiext.resources.conversion.rules.carried.difference import difference
from apiext.resources.conversion.rules.carried.ownership import Managers
from apiext.resources.conversion.rules.carried.restoration import restore
from apiext.resources.conversion.rules.declared_losses import ignore_losses
from apiext.resources.conversion.rules.model import CARRIED

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.scheduling.call_log import CallLog
    from apiext.resources.conversion.interface import Converted
    from apiext.resources.conversion.metrics import RulesStats
    from apiext.resources.conversion.rules.carried.annotation import Carried, Owned
    from apiext.resources.conversion.rules.carried.entries import Entry
    from apiext.resources.conversion.rules.declared_losses import DeclaredLosses
    from apiext.resources.conversion.rules.interface import CompiledRules, Transformation
    from apiext.schema.compiled import CompiledSchema

_PROBLEMS: Final = {TOO_LARGE: "has more than the annotation can carry", IRREVERSIBLE: "has what the rules cannot convert back"}
"""Why an object must not return to the version that had what was not carried."""


class RulesConverter(Converter):
    """Converts by the rules of a Conversion. Implements CarriedContent, too.

    Converting an object there and back gives an equal one, whatever the rules lose, but for declared losses.
    """

    prunes = True

    def __init__(
        self,
        rules: CompiledRules,
        losses: DeclaredLosses,
        schemas: Mapping[str, CompiledSchema],
        storage_version: str,
        name: str,
        stats: RulesStats | None = None,
        hub: str = "",
        *,
        sees_writes: bool = True,
    ) -> None:
        """Create the converter of the definition with a name. `schemas` has all its versions. Count conversions in `stats`.

        Objects go from one spoke to another through the `hub`: what the hub has and the first one lacks is carried for the hub, and
        returns there. A webhook, which `sees_writes` only where they convert, finds by the managers of fields what others have ended.
        """
        self._rules = rules
        self._losses = losses
        self._schemas = schemas
        self._storage_version = storage_version
        self._name = name
        self._stats = stats
        self._hub = hub
        self._sees_writes = sees_writes
        self._is_inline = not rules.has_expressions
        self._transformations: dict[tuple[str, str], Transformation | ConversionError] = {}

    @property
    def is_inline(self) -> bool:
        """See Converter.is_inline."""
        return self._is_inline

    @property
    def carrying(self) -> Self:
        """See Converter.carrying."""
        return self

    async def convert(self, objects: Sequence[Object], api_version: str, _log: CallLog | None = None) -> list[Converted]:
        """Implement Converter.convert."""
        pace = Pace()
        results: list[Converted] = []
        for obj in objects:
            try:
                results.append(self.convert_inline(obj, api_version))
            except ConversionError as error:
                results.append(error.copy())
            if pace.due:
                await pace.pause()
        return results

    def convert_inline(self, obj: Object, api_version: str) -> Object:
        """Implement Converter.convert_inline. No object or list in the given object is changed."""
        source, target = obj["apiVersion"].rpartition("/")[2], api_version.rpartition("/")[2]
        metadata = obj.get("metadata")
        if len(obj) == 2 or source == target:
            obj["apiVersion"] = api_version
            return obj
        if type(metadata) is not dict:
            raise ConversionError(f"cannot convert an object to version {target} that has no metadata")
        # an error of another kind: the conversion begins again elsewhere, and counts there
        begun, succeeded = perf_counter(), ""
        try:
            converted = self._converted(obj, source, target)
            succeeded = "true"
        except RecursionError as error:
            succeeded = "false"
            # rules can wrap a value again and again
            raise ConversionError(f"{self._prefix(obj, target)}: it becomes nested too deeply") from error
        except ConversionError:
            succeeded = "false"
            raise
        finally:
            if self._stats is not None and succeeded:
                self._stats.conversions[self._name, source, target, succeeded].observe(perf_counter() - begun)
        converted["apiVersion"] = api_version
        return converted

    def _converted(self, obj: Object, source: str, target: str) -> Object:
        text = annotation.take(obj)
        carried = annotation.parse(text, self._schemas, marked=source != self._storage_version) if text is not None else {}
        managers: Managers | None = None
        owned: Owned = {}
        if not self._sees_writes:
            managers, owned = Managers(obj), annotation.parse_owned(text, self._schemas) if text is not None else {}
            managers.drop_removed(carried, owned, self._schemas)
        ends = (target,) if self._hub in ("", source, target) else (self._hub, target)
        begin = source
        for end in ends:
            self._take_step(obj, carried, begin, end, target)
            begin = end
        if carried and target == self._storage_version:
            self._drop_ended(obj, carried, {source, self._hub})
        if managers:
            owned = managers.owned(carried)
        elif target == self._storage_version:
            owned.pop(target, None)
        if carried or owned:
            self._carry(obj, carried, owned, source, target)
        return obj

    def _take_step(self, obj: Object, carried: Carried, source: str, end: str, target: str) -> None:
        """Convert an object on its way to the target version, and change what it carries, in place."""
        transformation = self._transformation(source, end)
        carried.pop(source, None)
        own = carried.pop(end, ())
        if isinstance(own, str):
            raise self._refusal(obj, target, end, own)
        before = obj.copy()
        exact = transformation.apply(obj)
        restored = bool(own) and restore(obj, own, self._schemas[end].structural)
        if not exact or restored:
            entries = self._lost(before, obj, source, end, target)
            if entries:
                carried[source] = entries

    def _lost(self, before: Object, obj: Object, source: str, end: str, target: str) -> tuple[Entry, ...] | str:
        """Return what the way back does not give again. Raise ConversionError if the object must not be stored without a way back."""
        returned = obj.copy()
        try:
            self._transformation(end, source).apply(returned, before)
        except ConversionError as error:
            if target == self._storage_version:
                raise UnstorableError(f"{self._prefix(obj, target)}: the rules cannot convert it back: {error}") from error
            return IRREVERSIBLE
        expected = ignore_losses(before, returned, self._losses.between(source, end))
        return difference(expected, returned, self._schemas[source].structural)

    def _carry(self, obj: Object, carried: Carried, owned: Owned, source: str, target: str) -> None:
        """Set the annotation. What is too large is replaced by a mark, except in the storage version."""
        stored = target == self._storage_version
        for version, found in carried.items():
            if stored and isinstance(found, str):
                raise self._refusal(obj, target, version, found)
        try:
            text = annotation.text_of(carried, owned)
        except CarrierSizeError as error:
            if stored:
                raise self._excess(obj, source, target, error) from error
            carried[source] = TOO_LARGE
            text = self._marked(carried)
        annotation.put(obj, text)

    def _marked(self, carried: Carried) -> str:
        try:
            return annotation.text_of(carried)
        except CarrierSizeError:
            # only the entries of a client that compressed them better than this server does
            return annotation.text_of(dict.fromkeys(carried, TOO_LARGE))

    def _transformation(self, source: str, target: str) -> Transformation:
        found = self._transformations.get((source, target))
        if found is None:
            try:
                found = self._rules.transformation(source, target)
            except ConversionError as error:
                found = error.copy()
            self._transformations[source, target] = found
        if isinstance(found, ConversionError):
            raise found.copy()
        return found

    # --- writes -----------------------------------------------------------------------------------------------------------

    def settle(self, obj: Object, *, is_new: bool = False) -> None:
        """Implement CarriedContent.settle."""
        metadata, version = obj["metadata"], str(obj.get("apiVersion")).rpartition("/")[2]
        text = annotation.of(metadata)
        if text is None or version != self._storage_version:
            return
        known = annotation.parse(text, self._schemas, marked=False)
        carried, bare = known.copy(), obj.copy()
        annotation.take(bare)
        if is_new:
            carried.pop(version, None)
        self._drop_ended(bare, carried)
        try:
            if is_new:
                _replace(metadata, annotation.text_of(carried) if carried else None)
            elif carried != known:
                _replace(metadata, annotation.replaced(text, {version: carried.get(version, ()) for version in known}))
        except CarrierSizeError:
            # only the entries of a client that compressed them better than this server does
            if is_new:
                _replace(metadata, None)

    def _drop_ended(self, obj: Object, carried: Carried, current: Collection[str] = ()) -> None:
        """Remove the entries, in place, that do not apply to an object of the storage version: they do not return with their places.

        Those of the `current` versions were just made for it. Entries stay for versions to which the object cannot be converted.
        """
        storage = self._storage_version
        ended = [version for version, found in carried.items() if version not in {storage, *current} and not isinstance(found, str)]
        begin: Object | None = obj
        source = storage
        if ended and self._hub not in ("", storage):
            begin, source = self._applied(obj, carried, storage, self._hub), self._hub
        for version in ended:
            if begin is not None and version != source:
                self._applied(begin, carried, source, version)

    def _applied(self, obj: Object, carried: Carried, source: str, target: str) -> Object | None:
        """Return an object in another version with what it carries for that, and leave only this among the entries; None without a way."""
        found, entries = obj.copy(), carried.get(target, ())
        try:
            self._transformation(source, target).apply(found)
        except (ConversionError, RecursionError):
            return None
        if isinstance(entries, str):
            return found
        applied = restore(found, entries, self._schemas[target].structural)
        if applied:
            carried[target] = applied
        else:
            carried.pop(target, None)
        return found

    def keep(self, metadata: Object, before: Object) -> None:
        """Implement CarriedContent.keep."""
        known = annotation.of(before)
        if annotation.of(metadata) != known:
            _replace(metadata, known)

    # --- errors -----------------------------------------------------------------------------------------------------------

    def _prefix(self, obj: Object, target: str) -> str:
        name = obj["metadata"].get("name", "")
        namespace = obj["metadata"].get("namespace", "")
        shown = f"{namespace}/{name}" if namespace else name
        return f"conversion {self._name} cannot convert {obj.get('kind')} {shown!r} to version {target}"

    def _refusal(self, obj: Object, target: str, version: str, reason: str) -> ConversionError:
        return UnstorableError(
            f"{self._prefix(obj, target)}: in version {version} it {_PROBLEMS[reason]}, and would lose it. Change it in that version"
        )

    def _excess(self, obj: Object, source: str, target: str, error: CarrierSizeError) -> ConversionError:
        return UnstorableError(
            f"{self._prefix(obj, target)}: what only version {source} has takes {error}. "
            f"Shorten it, convert it by rules, or declare its loss by a drop rule"
        )


def _replace(metadata: Object, text: str | None) -> None:
    """Set or remove the annotation in new annotations of the metadata."""
    annotations = dict(metadata.get("annotations") or {})
    annotations.pop(CARRIED, None)
    if text is not None:
        annotations[CARRIED] = text
    if annotations:
        metadata["annotations"] = annotations
    else:
        metadata.pop("annotations", None)
