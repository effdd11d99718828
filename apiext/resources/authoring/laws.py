"""What must be true of conversions by rules, tried on one object at a time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_values
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.carried import annotation
from apiext.resources.conversion.rules.declared_losses import ignore_losses
from apiext.resources.conversion.rules.model import CARRIED
from apiext.resources.evaluation.fields import ABSENT, at, other_values, scalars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.authoring.tried_rules import TriedRules
    from apiext.resources.evaluation.fields import Step
    from apiext.schema.compiled import CompiledSchema
    from apiext.schema.model import Structural

_REMOVAL: Final = 3
"""One of how many changes is a removal."""


def changed_object(obj: Object, schema: CompiledSchema, choice: int) -> tuple[Object, str] | None:
    """Return a copy of an object with one changed field, and the change in words. None if nothing can be changed.

    `choice` selects the first scalar to try, and whether it gets another value or is removed: every third one is. The changed object
    has no more violations of the schema than the given one.
    """
    leaves = [leaf for leaf in scalars(obj, schema.structural) if leaf[2] is not None]
    most = len(schema.validate_values(obj))
    for number in range(len(leaves)):
        steps, node, value = leaves[(choice + number) % len(leaves)]
        for change, text in _changes(node, value, steps[-1], is_removal=choice % _REMOVAL == _REMOVAL - 1):
            changed: Object = json_values.copy(obj)
            change(value_at(changed, steps[:-1]))
            if len(schema.validate_values(changed)) <= most and not schema.validate_lists(changed):
                return changed, f"{_text(steps)}: {text}"
    return None


def _changes(schema: Structural | None, value: Any, step: Step, *, is_removal: bool) -> Iterator[tuple[Callable[[Any], None], str]]:
    """Yield functions that change a scalar in what holds it, with words."""
    if is_removal:
        if isinstance(step, str):
            yield partial(_remove, step), f"{value!r} is removed"
        return
    for other in other_values(schema, value):
        yield partial(_set, step, other), f"{value!r} becomes {other!r}"


def _set(step: Step, value: Any, holder: Any) -> None:
    holder[step] = value


def _remove(step: Step, holder: Any) -> None:
    del holder[step]


def value_at(obj: Any, steps: Sequence[Step]) -> Any:
    """Return the value at a path, None if there is none."""
    found = at(obj, steps)
    return None if found is ABSENT else found


def _text(steps: Sequence[Step]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


class Law(StrEnum):
    """A law of conversions."""

    CONVERTED = "every object can be converted"
    ROUND_TRIP = "an object that returns to its version is as it was"
    CHANGE_ARRIVES = "a field that was changed in the other version keeps its value"
    OTHERS_STAY = "fields that a change in the other version does not touch stay"


@dataclass(frozen=True, slots=True)
class BrokenLaw:
    """An object that breaks a law."""

    law: Law
    way: tuple[str, ...]
    """The versions that the object had, one after the other."""
    object: Object
    """The object in the first version."""
    expected: Object
    actual: Object
    change: str = ""
    """What was changed in between, in words."""
    error: str = ""
    """Why the conversion failed."""


class BrokenLawError(Exception):
    """An object breaks a law."""

    def __init__(self, broken: BrokenLaw) -> None:
        super().__init__(broken.law)
        self.broken = broken


@dataclass(slots=True)
class TrialCounts:
    """What the trials of one pair of versions have seen."""

    objects: int = 0
    changes: int = 0
    carrying: int = 0
    """Objects with the annotation in the other version."""
    most_carried: int = 0
    """Bytes of the longest annotation."""


class Laws:
    """Tries the laws between two versions of a CRD."""

    def __init__(self, rules: TriedRules, source: str, target: str) -> None:
        """Convert objects of the source version to the target version and back, directly and by way of the storage version."""
        self._rules = rules
        self._source = source
        self._target = target
        self.counts = TrialCounts()

    def check(self, obj: Object, change: int = 0) -> Sequence[str]:
        """Try all laws on an object of the source version, and return why the converted object is invalid if this one is valid.

        `change` chooses the field that is changed in between. The object may be shared and stays as it is.

        Raises:
            BrokenLawError: the object breaks a law.
        """
        storage = self._rules.storage
        ways: list[tuple[str, ...]] = [(self._source, self._target, self._source)]
        if storage not in (self._source, self._target):
            ways.append((self._source, storage, self._target, storage, self._source))
        for way in ways:
            found = self._travelled(obj, way)
            self._require_equal(Law.ROUND_TRIP, way, obj, obj, found)
        there = self._travelled(obj, ways[-1][: len(ways[-1]) // 2 + 1])
        self._count(there)
        self._check_change(obj, there, ways[-1][len(ways[-1]) // 2 :], change)
        return self._new_errors(obj, there)

    def becomes_invalid(self, obj: Object, error: str) -> bool:
        """Return whether an object is valid, and invalid for a reason after its conversion.

        Raises:
            BrokenLawError: it cannot be converted.
        """
        return error in self._new_errors(obj, self._travelled(obj, (self._source, self._target)))

    def _new_errors(self, obj: Object, there: Object) -> Sequence[str]:
        found = self._rules.errors_of(there, self._target)
        return found if found and not self._rules.errors_of(obj, self._source) else ()

    def _check_change(self, obj: Object, there: Object, back: tuple[str, ...], choice: int) -> None:
        found = changed_object(there, self._rules.schemas[self._target], choice)
        if found is None:
            return
        changed, text = found
        self.counts.changes += 1
        way = (*back[::-1], *back[1:])
        returned = self._travelled(changed, back, obj, text)
        again = self._travelled(returned, back[::-1], obj, text)
        self._require_equal(Law.CHANGE_ARRIVES, (*way, *back[::-1][1:]), obj, changed, again, text)
        expected = self.expected_return(there, changed, obj, returned)
        self._require_equal(Law.OTHERS_STAY, way, obj, expected, returned, text)

    def expected_return(self, there: Object, changed: Object, obj: Object, returned: Object) -> Object:
        """Return an object as it must return to the source version: with the returned values of what a change touches by the rules alone.

        `there` is the object in the target version, `changed` the same one after the change.

        Raises:
            ConversionError: one of them cannot be converted.
        """
        before, after = self._rules.bare(there, self._source), self._rules.bare(changed, self._source)
        expected: Object = json_values.copy(obj)
        _take_over(expected, returned, before, after)
        return expected

    def _travelled(self, obj: Object, way: Sequence[str], origin: Object | None = None, change: str = "") -> Object:
        """Return a copy of an object after the conversions of a way, which begins with its version."""
        found: Object = json_values.copy(obj)
        try:
            for version in way[1:]:
                found = self._rules.convert(found, version)
        except ConversionError as error:
            raise BrokenLawError(BrokenLaw(Law.CONVERTED, tuple(way), origin or obj, obj, {}, change, str(error))) from error
        return found

    def _require_equal(self, law: Law, way: tuple[str, ...], obj: Object, expected: Object, actual: Object, change: str = "") -> None:
        differing = self.difference(way, expected, actual)
        if differing is not None:
            raise BrokenLawError(BrokenLaw(law, way, _without_carrier(obj), *differing, change))

    def difference(self, way: Sequence[str], expected: Object, actual: Object) -> tuple[Object, Object] | None:
        """Return copies of two objects of one version without the carrier, None if they differ at most in what rules drop on the way."""
        wanted, found = _without_carrier(expected), _without_carrier(actual)
        losses = [loss for version in way for loss in self._rules.losses(way_version(wanted), version)]
        wanted = ignore_losses(wanted, found, losses)
        return None if json_values.equal(wanted, found) else (wanted, found)

    def _count(self, there: Object) -> None:
        text = value_at(there, ("metadata", "annotations", CARRIED))
        self.counts.objects += 1
        if isinstance(text, str):
            self.counts.carrying += 1
            self.counts.most_carried = max(self.counts.most_carried, len(text))


def way_version(obj: Object) -> str:
    """Return the version of an object."""
    version: str = obj["apiVersion"].rpartition("/")[2]
    return version


def _without_carrier(obj: Object) -> Object:
    copied: Object = json_values.copy(obj)
    annotation.take(copied)
    return copied


def _take_over(expected: Any, returned: Any, before: Any, after: Any) -> None:
    """Give objects the returned values of the members that differ between two others. Lists are taken over as a whole."""
    if not all(type(each) is dict for each in (expected, returned, before, after)):
        return
    for name in {**expected, **returned, **before, **after}:
        inner = [each.get(name) for each in (expected, returned, before, after)]
        if all(type(each) is dict for each in inner):
            _take_over(*inner)
        elif (name in before) != (name in after) or not json_values.equal(inner[2], inner[3]):
            if name in returned:
                expected[name] = inner[1]
            else:
                expected.pop(name, None)
