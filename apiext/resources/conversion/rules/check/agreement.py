"""Tries whether the two directions of expressions agree, on objects made up from the schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec, json_values
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.check.choices import RandomChoices
from apiext.resources.conversion.rules.check.places import placed_rules
from apiext.resources.conversion.rules.check.samples import Samples
from apiext.resources.conversion.rules.inverse import MovedPaths
from apiext.resources.conversion.rules.model import EACH, Expressions
from apiext.resources.conversion.rules.paths import path_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.rules.check.report import CheckReport
    from apiext.resources.conversion.rules.interface import CompiledRules
    from apiext.resources.conversion.rules.model import ConversionRules, FieldSteps
    from apiext.schema.compiled import CompiledSchema

_TRIALS: Final = 60
_SHOWN: Final = 80
_ABSENT: Final = object()


def check_agreement(rules: ConversionRules, compiled: CompiledRules, schemas: Mapping[str, CompiledSchema], report: CheckReport) -> None:
    """Warn of each field of an expression that has another value after a conversion there and back, or that fails, with an example."""
    for index, spoke in enumerate(rules.spokes):
        places = [*_set_fields(rules, index)]
        for source, target in ((spoke.version, rules.hub), (rules.hub, spoke.version)):
            fields = {place: steps for version, place, steps in places if version == source}
            if fields:
                _Direction(rules, compiled, source, target, report).check(fields, schemas[source])


def _set_fields(rules: ConversionRules, index: int) -> Iterator[tuple[str, str, FieldSteps]]:
    """Yield the version, the place in the rules, and the path in that version of each field that expressions of a spoke set."""
    spoke = rules.spokes[index]
    moves = MovedPaths(spoke.rules)
    for number, each in enumerate(placed_rules(rules, index)):
        if not isinstance(each.rule, Expressions):
            continue
        for position, assignment in enumerate(each.rule.to_spoke):
            steps = moves.before(assignment.path, number)
            if steps is not None:
                yield spoke.version, f"{each.part('toSpoke')}[{position}]", steps
        for position, assignment in enumerate(each.rule.to_hub):
            steps = moves.after(assignment.path, number + 1)
            if steps is not None:
                yield rules.hub, f"{each.part('toHub')}[{position}]", steps


class _Direction:
    """Tries objects of one version."""

    def __init__(self, rules: ConversionRules, compiled: CompiledRules, source: str, target: str, report: CheckReport) -> None:
        self._rules = rules
        self._compiled = compiled
        self._source = source
        self._target = target
        self._report = report

    def check(self, fields: Mapping[str, FieldSteps], schema: CompiledSchema) -> None:
        """Convert made-up objects there and back, and compare the fields, which are given by the place of their rule."""
        samples = Samples(schema, self._rules, self._source, kind="Sample")
        left = dict(fields)
        for seed in range(_TRIALS):
            obj = samples.make(RandomChoices(seed)) if left else None
            if obj is None:
                continue
            try:
                returned = self._returned(obj)
            except ConversionError as error:
                place = next(iter(left))
                self._report.warn(place, f"fails for some objects of {self._source}: {error}")
                return
            for place, steps in [*left.items()]:
                before, after = _value(obj, steps), _value(returned, steps)
                if before is not _ABSENT and (after is _ABSENT or not json_values.equal(before, after)):
                    way = f"{self._source} -> {self._target} -> {self._source}"
                    text = f"{path_text(steps)} {_shown(before)} becomes {_shown(after)} on the way {way}"
                    self._report.warn(place, f"the directions disagree: {text}; the difference is carried")
                    del left[place]

    def _returned(self, obj: Object) -> Object:
        """Return an object after a conversion there and back, without what it carries. Raise ConversionError."""
        found: Object = json_values.copy(obj)
        self._compiled.transformation(self._source, self._target).apply(found)
        self._compiled.transformation(self._target, self._source).apply(found)
        return found


def _value(obj: Any, steps: FieldSteps) -> Any:
    for step in steps:
        if step == EACH or type(obj) is not dict or step not in obj:
            return _ABSENT
        obj = obj[step]
    return obj


def _shown(value: Any) -> str:
    text = "nothing" if value is _ABSENT else json_codec.dumps(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
