"""Compiles rules for the schemas of a CRD: one transformation for each pair of versions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.field import Path
from apiext.base.meta.limits import MAX_INLINE_EXPRESSION_LENGTH, MAX_INLINE_RULE_SCHEMA_BYTES, MAX_SERVER_EXPRESSION_LENGTH
from apiext.base.scheduling.inline_work import Deferred
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules import model
from apiext.resources.conversion.rules.field_types import FieldTypes, part_type
from apiext.resources.conversion.rules.finish import finisher, metadata_paths
from apiext.resources.conversion.rules.interface import UNKNOWN, InvalidConversionError
from apiext.resources.conversion.rules.inverse import MovedPaths
from apiext.resources.conversion.rules.model import EACH, Expressions
from apiext.resources.conversion.rules.operations.copy import compile_copy
from apiext.resources.conversion.rules.operations.default import compile_default
from apiext.resources.conversion.rules.operations.drop import compile_drop
from apiext.resources.conversion.rules.operations.enum_map import compile_enum
from apiext.resources.conversion.rules.operations.list_to_map import compile_list_to_map, compile_map_to_list
from apiext.resources.conversion.rules.operations.move import compile_move
from apiext.resources.conversion.rules.operations.split import compile_join, compile_split
from apiext.resources.conversion.rules.operations.wrap import compile_unwrap, compile_wrap
from apiext.resources.conversion.rules.paths import path_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from apiext.resources.conversion.rules.expressions.compile import CompiledAssignment
    from apiext.resources.conversion.rules.finish import Finish
    from apiext.resources.conversion.rules.interface import CompiledRules, Transformation
    from apiext.resources.conversion.rules.model import Assignment, ConversionRules, FieldRule, FieldSteps, Rule
    from apiext.resources.conversion.rules.operations.operation import Reversible, Step
    from apiext.schema.compiled import CompiledSchema
    from apiext.schema.model import Structural


Detach = Callable[[Object], None]
"""Replaces, in place, the values of an object that rules change by copies."""
_NESTED: Final = frozenset({dict, list})


def detacher(rules: Iterable[Rule]) -> Detach:
    """Return the function that copies what rules change in either direction, whatever the order in which they move fields.

    A rule changes the objects and lists on its path. What it moves, later rules may change at another path: that is copied as a whole.
    """
    root = _Names({}, is_moved=False)
    for rule in rules:
        for path, is_moved in _changed(rule):
            _add(root, path, is_moved=is_moved)
    return _Detachment(_parts(root)).apply


def _changed(rule: Rule) -> Iterator[tuple[FieldSteps, bool]]:
    """Yield the paths at which a rule sets or removes values, and whether it moves objects and lists there."""
    match rule:
        case model.Move(source, target):
            yield from ((source, True), (target, True))
        case model.Copy(target=target):
            yield target, False
        case model.Split(source=whole, targets=parts) | model.Join(target=whole, sources=parts):
            # both leave values that are no texts
            yield from ((path, False) for path in (whole, *parts))
        case model.Expressions(to_hub, to_spoke):
            yield from ((each.path, False) for each in (*to_hub, *to_spoke))
        case model.Wrap(path) | model.Unwrap(path) | model.ListToMap(path) | model.MapToList(path):
            yield path, True
        case _:
            yield rule.path, False


class _Names(NamedTuple):
    """The steps that lead on from a place."""

    below: dict[str, _Names]
    is_moved: bool


class _Part(NamedTuple):
    """What is copied of a value: the value alone, or with members. None in place of a part: all of it."""

    members: tuple[tuple[str, _Part | None], ...]
    each: _Part | None
    """Copied of each item or member."""
    has_each: bool


def _add(root: _Names, path: FieldSteps, *, is_moved: bool) -> None:
    node = root
    for step in path[:-1]:
        node = node.below.setdefault(step, _Names({}, is_moved=False))
    known = node.below.get(path[-1])
    node.below[path[-1]] = _Names({} if known is None else known.below, is_moved or (known is not None and known.is_moved))


def _parts(names: _Names) -> _Part:
    # the value at the end of a path is replaced and not changed, unless it is moved
    changed = {step: None if below.is_moved else _parts(below) for step, below in names.below.items() if below.is_moved or below.below}
    members = tuple((step, part) for step, part in changed.items() if step != EACH)
    return _Part(members, changed.get(EACH), EACH in changed)


class _Detachment:
    """Implements Detach."""

    __slots__ = ("_part",)

    def __init__(self, part: _Part) -> None:
        self._part = part

    def apply(self, obj: Object) -> None:
        """Replace values by copies in place."""
        _detach(obj, self._part)


def _detach(value: dict[str, Any], part: _Part) -> None:
    if part.has_each:
        for name, member in value.items():
            if type(member) in _NESTED:
                value[name] = _copy(member, part.each)
    for name, below in part.members:
        member = value.get(name)
        if type(member) in _NESTED:
            value[name] = _copy(member, below)


def _copy(value: Any, part: _Part | None) -> Any:
    if part is None:
        return json_values.copy(value)
    copied = value.copy()
    if type(value) is dict:
        _detach(copied, part)
    elif part.has_each:
        copied = [_copy(item, part.each) if type(item) in _NESTED else item for item in value]
    return copied


def operation(rule: model.FieldRule, types: FieldTypes) -> Reversible:
    """Return the functions of a rule, for the types of its fields."""
    match rule:
        case model.Move():
            return compile_move(rule)
        case model.Copy():
            return compile_copy(rule)
        case model.Default():
            other = types.in_spoke(rule.path) if rule.side is model.Side.HUB else types.in_hub(rule.path)
            return compile_default(rule, shared=other is not None)
        case model.EnumMap():
            return compile_enum(rule)
        case model.Wrap():
            return compile_wrap(rule)
        case model.Unwrap():
            return compile_unwrap(rule)
        case model.Split():
            return compile_split(rule, part_type(types.in_spoke(rule.source)), [part_type(types.in_hub(path)) for path in rule.targets])
        case model.Join():
            return compile_join(rule, part_type(types.in_hub(rule.target)), [part_type(types.in_spoke(path)) for path in rule.sources])
        case model.ListToMap():
            return compile_list_to_map(rule)
        case model.MapToList():
            return compile_map_to_list(rule)
        case model.Drop():
            return compile_drop(rule)


class Pipeline:
    """The functions of the rules of a spoke."""

    def __init__(self, rules: Sequence[Rule], place: int, spoke: Structural, hub: Structural) -> None:
        """Create the functions for the schemas of both versions. `place` is that of the spoke in its document."""
        self._path = Path("spec", "spokes").index(place).child("rules")
        self._spoke = spoke
        self._hub = hub
        moves = MovedPaths(rules)
        self._rules = [(rule, FieldTypes(spoke, hub, moves, position)) for position, rule in enumerate(rules)]
        self._known: dict[int, Reversible] = {}
        self.metadata = metadata_paths(rules)
        """The labels and annotations that rules may set."""

    @property
    def has_expressions(self) -> bool:
        """Return whether a rule has expressions."""
        return any(isinstance(rule, Expressions) for rule, _ in self._rules)

    def steps(self, *, to_hub: bool) -> list[Step]:
        """Return the steps of all rules but expressions."""
        ordered = self._ordered(to_hub=to_hub)
        return [self._step(position, rule, to_hub=to_hub) for position, rule in ordered if not isinstance(rule, Expressions)]

    def mixed_steps(self, *, to_hub: bool) -> list[Step | CompiledAssignment]:
        """Return the steps of all rules, with expressions in their places.

        Raises:
            InvalidConversionError: expressions are invalid, or cost too much.
        """
        from apiext.resources.conversion.rules.expressions.compile import AssignmentCompiler

        compiler = AssignmentCompiler(self._spoke if to_hub else self._hub)
        found: list[Step | CompiledAssignment] = []
        for position, rule in self._ordered(to_hub=to_hub):
            if not isinstance(rule, Expressions):
                found.append(self._step(position, rule, to_hub=to_hub))
                continue
            at = self._path.index(position).child("expression", "toHub" if to_hub else "toSpoke")
            types = self._rules[position][1]
            for index, assignment in enumerate(rule.to_hub if to_hub else rule.to_spoke):
                target = types.in_hub(assignment.path) if to_hub else types.in_spoke(assignment.path)
                compiled = compiler.compile(assignment, path_text(assignment.path), target, at.index(index).child("value"))
                if compiled is not None:
                    found.append(compiled)
        if compiler.errors:
            raise InvalidConversionError(compiler.errors)
        return found

    def _ordered(self, *, to_hub: bool) -> Iterator[tuple[int, Rule]]:
        numbered = list(enumerate(rule for rule, _ in self._rules))
        return iter(numbered if to_hub else reversed(numbered))

    def _step(self, position: int, rule: FieldRule, *, to_hub: bool) -> Step:
        if position not in self._known:
            self._known[position] = operation(rule, self._rules[position][1])
        found = self._known[position]
        return found.forth if to_hub else found.back


class Stage(Protocol):
    """The way from one version to another, one of which is the hub."""

    def apply(self, obj: Object, known: Object) -> bool:
        """See `Transformation.apply`. What rules change in the object is not shared."""
        ...

    def failures(self, obj: Object) -> list[tuple[str, str]]:
        """See `Transformation.failures`."""
        ...


class StepsStage:
    """Implements Stage for rules without expressions."""

    __slots__ = ("_api_version", "_finish", "_steps")

    def __init__(self, steps: Sequence[Step], finish: Finish, api_version: str) -> None:
        self._steps = tuple(steps)
        self._finish = finish
        self._api_version = api_version

    def apply(self, obj: Object, known: Object) -> bool:
        """Implement Stage.apply."""
        is_exact = True
        for step in self._steps:
            if not step(obj):
                is_exact = False
        obj["apiVersion"] = self._api_version
        return self._finish(obj, known) and is_exact

    def failures(self, _obj: Object) -> list[tuple[str, str]]:
        """Implement Stage.failures: there are no expressions."""
        return []


class StagedTransformation:
    """Implements Transformation."""

    __slots__ = ("_detach", "_last", "_stages")

    def __init__(self, stages: Sequence[Stage], detach: Detach) -> None:
        """Create the transformation. `detach` copies what the rules of all stages change."""
        *stages, self._last = stages
        self._stages = tuple(stages)
        self._detach = detach

    def apply(self, obj: Object, known: Object = UNKNOWN) -> bool:
        """Implement Transformation.apply."""
        self._detach(obj)
        is_exact = True
        for stage in self._stages:
            is_exact = stage.apply(obj, UNKNOWN) and is_exact
        return self._last.apply(obj, known) and is_exact

    def failures(self, obj: Object) -> list[tuple[str, str]]:
        """Implement Transformation.failures."""
        return (self._stages[0] if self._stages else self._last).failures(obj)


def compile_rules(rules: ConversionRules, schemas: Mapping[str, CompiledSchema]) -> CompiledRules:
    """Return the rules of a CRD, compiled for the schema of each of its versions by name."""
    return _Compiled(rules, schemas)


class _Compiled:
    """Implements CompiledRules."""

    def __init__(self, rules: ConversionRules, schemas: Mapping[str, CompiledSchema]) -> None:
        self._rules = rules
        self.has_expressions = any(isinstance(rule, Expressions) for spoke in rules.spokes for rule in spoke.rules)
        self._group = rules.name.partition(".")[2]
        self._schemas = schemas
        self._places = {spoke.version: index for index, spoke in enumerate(rules.spokes)}
        self._pipelines: dict[str, Pipeline] = {}
        self._known: dict[tuple[str, str], StagedTransformation] = {}
        self._made: dict[tuple[str, str], Deferred[StagedTransformation | ConversionError]] = {}

    def transformation(self, source: str, target: str) -> Transformation:
        """Implement CompiledRules.transformation."""
        known = self._known.get((source, target))
        if known is not None:
            return known
        deferred = self._made.get((source, target))
        if deferred is None:
            deferred = self._made[source, target] = self._deferred(source, target)
        found = deferred.get()
        if isinstance(found, ConversionError):
            raise found.copy()
        self._known[source, target] = found
        return found

    def _deferred(self, source: str, target: str) -> Deferred[StagedTransformation | ConversionError]:
        make = partial(self._make, source, target)
        if not self.has_expressions:
            return Deferred(make)
        lengths = [len(each.expression) for rule in self._between(source, target) for each in _assignments(rule)]
        sizes = [len(json_codec.dumps(schema.structural.raw)) for schema in map(self._schemas.get, (source, target)) if schema is not None]
        size = max(sum(lengths) / MAX_INLINE_EXPRESSION_LENGTH, max(sizes, default=0) / MAX_INLINE_RULE_SCHEMA_BYTES)
        return Deferred(make, size=size, is_huge=max(lengths, default=0) > MAX_SERVER_EXPRESSION_LENGTH)

    def _make(self, source: str, target: str) -> StagedTransformation | ConversionError:
        try:
            return StagedTransformation(self._stages(source, target), detacher(self._between(source, target)))
        except ConversionError as error:
            return error.copy()

    def _between(self, source: str, target: str) -> Iterator[Rule]:
        """Yield the rules of both versions."""
        return (rule for spoke in self._rules.spokes if spoke.version in (source, target) for rule in spoke.rules)

    def _stages(self, source: str, target: str) -> list[Stage]:
        hub = self._rules.hub
        stages = [self._stage(source, source, hub)] if source != hub else []
        return stages if target == hub else [*stages, self._stage(target, hub, target)]

    def _stage(self, spoke: str, source: str, target: str) -> Stage:
        """Return the stage between the hub and a spoke."""
        pipeline = self._pipelines.get(spoke)
        if pipeline is None:
            pipeline = self._pipelines[spoke] = self._pipeline(spoke)
        finish, api_version = finisher(self._schema(target), pipeline.metadata), f"{self._group}/{target}"
        if not pipeline.has_expressions:
            return StepsStage(pipeline.steps(to_hub=source == spoke), finish, api_version)
        from apiext.resources.conversion.rules.expressions.stage import ExpressionStage

        stage = ExpressionStage(pipeline.mixed_steps(to_hub=source == spoke), finish, api_version)
        stage.prepare()
        return stage

    def _pipeline(self, spoke: str) -> Pipeline:
        place = self._places.get(spoke)
        if place is None:
            raise ConversionError(f"the Conversion {self._rules.name} has no rules for version {spoke}")
        return Pipeline(self._rules.spokes[place].rules, place, self._schema(spoke).structural, self._schema(self._rules.hub).structural)

    def _schema(self, version: str) -> CompiledSchema:
        found = self._schemas.get(version)
        if found is None:
            raise ConversionError(f"the Conversion {self._rules.name} names version {version}, which the CRD does not have")
        return found


def _assignments(rule: Rule) -> Sequence[Assignment]:
    return (*rule.to_hub, *rule.to_spoke) if isinstance(rule, Expressions) else ()
