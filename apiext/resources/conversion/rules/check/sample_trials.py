"""Trials of rules on made-up objects: which become invalid, for which expressions fail, and what does not return."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec, json_values
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.check.choices import RandomChoices
from apiext.resources.conversion.rules.check.places import placed_rules, spoke_path
from apiext.resources.conversion.rules.check.samples import Samples
from apiext.resources.conversion.rules.inverse import MovedPaths
from apiext.resources.conversion.rules.model import EACH, Expressions
from apiext.resources.conversion.rules.paths import path_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.resources.conversion.rules.check.report import CheckReport
    from apiext.resources.conversion.rules.interface import CompiledRules, Transformation
    from apiext.resources.conversion.rules.model import ConversionRules, FieldSteps
    from apiext.schema.compiled import CompiledSchema
    from apiext.schema.model import Structural

_TRIALS: Final = 60
_MOST_EXAMPLES: Final = 5
"""Reasons why objects become invalid that are shown for each direction of a spoke."""
_SHOWN: Final = 80
_SHOWN_OBJECT: Final = 160
_IDENTITY: Final = ("apiVersion", "kind", "metadata")
_STEP: Final = re.compile(r"\.?([^.\[]+)|\[([^\]]*)\]")
_ABSENT: Final = object()


def violations(schema: CompiledSchema, obj: Object) -> list[FieldError]:
    """Return why an object is invalid: by the keywords of its schema, else by its rules."""
    return [*schema.validate_values(obj), *schema.validate_lists(obj)] or schema.validate_rules(obj).errors


def smallest(obj: Object, is_example: Callable[[Object], object]) -> Object:
    """Return a copy of an example with as few members and items as an example still has. Its identity and metadata stay."""
    found: Object = json_values.copy(obj)
    _shrink(found, found, is_example)
    return found


def _shrink(root: Object, holder: Any, is_example: Callable[[Object], object]) -> None:
    steps = (
        [name for name in holder if holder is not root or name not in _IDENTITY] if type(holder) is dict else reversed(range(len(holder)))
    )
    for step in steps:
        value = holder.pop(step)
        if is_example(root):
            continue
        if type(holder) is dict:
            holder[step] = value
        else:
            holder.insert(step, value)
        if type(value) is dict or type(value) is list:
            _shrink(root, value, is_example)


def object_text(obj: Object) -> str:
    """Return the content of an object as JSON on one line."""
    metadata = {name: obj["metadata"][name] for name in ("labels", "annotations") if name in obj["metadata"]}
    content = ({"metadata": metadata} if metadata else {}) | {name: value for name, value in obj.items() if name not in _IDENTITY}
    return _shown(content, _SHOWN_OBJECT)


def general_path(text: str, obj: Any, schema: Structural | None) -> str:
    """Return the path of a field error about an object as rules write it, with [*] in place of indices and keys."""
    steps: list[str] = []
    while match := _STEP.match(text):
        keys = [key for key in obj if text[match.start(1) :].startswith(key)] if type(obj) is dict and not match[2] else []
        # keys of maps may have dots
        name = max(keys, key=len, default=match[2] or match[1])
        text = text[match.end() :] if match[2] else text[match.start(1) + len(name) :]
        is_named = schema is None or name in schema.properties or (schema.items is None and schema.additional is None)
        steps.append(name if is_named else EACH)
        schema = None if schema is None else schema.properties.get(name) or schema.items or schema.additional
        obj = obj.get(name) if type(obj) is dict else obj[int(name)] if type(obj) is list and int(name) < len(obj) else None
    return path_text(tuple(steps))


def try_samples(rules: ConversionRules, compiled: CompiledRules, schemas: Mapping[str, CompiledSchema], report: CheckReport) -> None:
    """Convert made-up objects between the hub and each spoke, and warn of what they show, with examples."""
    for index, spoke in enumerate(rules.spokes):
        places = [*_set_fields(rules, index)]
        for source, target in ((spoke.version, rules.hub), (rules.hub, spoke.version)):
            left = {place: steps for version, place, steps in places if version == source}
            direction = _Direction(compiled, schemas, (source, target), spoke_path(index), report)
            direction.check(Samples(schemas[source], rules, source, kind="Sample"), left)


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
    """Tries objects of one version on the way to another one, and back."""

    def __init__(
        self, compiled: CompiledRules, schemas: Mapping[str, CompiledSchema], way: tuple[str, str], spoke: str, report: CheckReport
    ) -> None:
        self._source, self._target = way
        self._schemas = schemas[self._source], schemas[self._target]
        self._forth = compiled.transformation(self._source, self._target)
        self._back = compiled.transformation(self._target, self._source)
        self._spoke = spoke
        self._report = report
        self._failed: set[str] = set()
        """The places of expressions that have failed, and the spoke after another failure."""
        self._known: set[tuple[str, Any]] = set()
        """Paths and kinds of errors that are reported."""

    def check(self, samples: Samples, fields: Mapping[str, FieldSteps]) -> None:
        """Convert made-up objects there and back. Compare the fields, which are given by the place of their rule."""
        alone: Object = {"apiVersion": "", "kind": "", "metadata": {"name": "sample"}}
        self._report_failures(self._forth, alone, f"an object of {self._source} with metadata alone, as server-side apply converts them")
        left = dict(fields)
        for seed in range(_TRIALS):
            obj = samples.make(RandomChoices(seed))
            there = None if obj is None else self._apply(self._forth, obj, self._source)
            if obj is None or there is None:
                continue
            self._check_valid(obj, there)
            returned = self._apply(self._back, there, self._target) if left else None
            if returned is not None:
                self._compare(obj, returned, left)

    def _apply(self, transformation: Transformation, obj: Object, version: str) -> Object | None:
        """Return a converted copy of an object, without what it carries. Report a failure, and return None then."""
        found: Object = json_values.copy(obj)
        try:
            transformation.apply(found)
        except ConversionError as error:
            where = f"objects of {version} such as {object_text(obj)}"
            if not self._report_failures(transformation, obj, where) and self._spoke not in self._failed:
                self._failed.add(self._spoke)
                self._report.warn(self._spoke, f"fails for {where}: {error}")
            return None
        return found

    def _report_failures(self, transformation: Transformation, obj: Object, where: str) -> bool:
        """Report the expressions that fail for an object, each once. Return whether there are any."""
        failures = transformation.failures(obj)
        for place, reason in failures:
            if place not in self._failed:
                self._failed.add(place)
                self._report.warn(place, f"fails for {where}: {reason}")
        return bool(failures)

    # --- validity ---------------------------------------------------------------------------------------------------------

    def _check_valid(self, obj: Object, there: Object) -> None:
        """Warn of each new reason why an object that is valid becomes invalid."""
        for error in self._errors(there):
            path = general_path(error.field, there, self._schemas[1].structural)
            if len(self._known) == _MOST_EXAMPLES:
                return
            if (path, error.type) in self._known or self._report.names(self._target, path) or violations(self._schemas[0], obj):
                continue
            self._known.add((path, error.type))
            error_of = partial(self._error, path, error.type)
            example = smallest(obj, error_of)
            found = error_of(example) or error
            text = f"objects that are valid in {self._source} can be invalid in {self._target}: {found.field}: {found.body()}"
            self._report.warn(self._spoke, f"{text}; for example {object_text(example)}", (self._target, path))

    def _errors(self, there: Object) -> list[FieldError]:
        self._schemas[1].coerce(there, defaults=True)
        return violations(self._schemas[1], there)

    def _error(self, path: str, kind: object, obj: Object) -> FieldError | None:
        """Return the error of a kind at a path that an object gets by its conversion, None for an object that is invalid before."""
        found: Object = json_values.copy(obj)
        try:
            self._schemas[0].coerce(found, defaults=True)
            if violations(self._schemas[0], found):
                return None
            self._forth.apply(found)
            errors = self._errors(found)
        # a ConversionError, or an embedded object without a kind
        except ValueError:
            return None
        schema = self._schemas[1].structural
        return next((each for each in errors if each.type == kind and general_path(each.field, found, schema) == path), None)

    # --- the way back -----------------------------------------------------------------------------------------------------

    def _compare(self, obj: Object, returned: Object, left: dict[str, FieldSteps]) -> None:
        """Warn of each field that has another value after a conversion there and back, and leave it out from then on."""
        for place, steps in [*left.items()]:
            before, after = _value(obj, steps), _value(returned, steps)
            if before is not _ABSENT and (after is _ABSENT or not json_values.equal(before, after)):
                way = f"{self._source} -> {self._target} -> {self._source}"
                text = f"{path_text(steps)} {_shown(before)} becomes {_shown(after)} on the way {way}"
                self._report.warn(place, f"the directions disagree: {text}; the difference is carried")
                del left[place]


def _value(obj: Any, steps: FieldSteps) -> Any:
    for step in steps:
        if step == EACH or type(obj) is not dict or step not in obj:
            return _ABSENT
        obj = obj[step]
    return obj


def _shown(value: Any, most: int = _SHOWN) -> str:
    text = "nothing" if value is _ABSENT else json_codec.dumps(value).decode()
    return text if len(text) <= most else f"{text[:most]}..."
