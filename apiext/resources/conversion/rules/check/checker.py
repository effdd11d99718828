"""The check of the rules of a CRD: each spoke there and back, and the spokes together."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from apiext.resources.conversion.rules import model
from apiext.resources.conversion.rules.check.places import placed_rules, spoke_path
from apiext.resources.conversion.rules.check.report import CarriedField, CheckReport, DeclaredLoss
from apiext.resources.conversion.rules.check.rule_travels import Travel, travel_to_hub, travel_to_spoke
from apiext.resources.conversion.rules.check.shape import ANYTHING, ChangingSchema, shape_of, type_of
from apiext.resources.conversion.rules.inverse import inverse
from apiext.resources.conversion.rules.model import EACH, Drop, Side
from apiext.resources.conversion.rules.paths import path_text
from apiext.schema.compiled import CompiledSchema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.resources.conversion.rules.check.places import PlacedRule
    from apiext.resources.conversion.rules.model import ConversionRules, FieldSteps, Rule

MAX_ADDED_LEVELS: Final = 20
"""Levels of objects and lists that the rules of a spoke may add to a value in one direction. With those of two spokes an object of
`limits.MAX_DEPTH` can still be written."""


_IDENTITY: Final = ("apiVersion", "kind", "metadata")
_WIDER: Final = {"number": frozenset({"integer", "number"})}
_SHOWN_VALUES: Final = 5


class Arrival:
    """Compares all that arrives in one direction of a spoke."""

    def __init__(self, travel: Travel, target: str, spoke: str, report: CheckReport) -> None:
        """Compare a schema after its way to the target version by the rules at the path `spoke`."""
        self._travel = travel
        self._source = travel.version
        self._target = target
        self._spoke = spoke
        self._report = report

    def compare(self, target: ChangingSchema) -> None:
        """Report what the target does not specify, has as another type, or requires without a source."""
        self._object(self._travel.shape, target, ())

    def _value(self, shape: ChangingSchema, target: ChangingSchema, steps: FieldSteps) -> None:
        if not self._constants(shape, target):
            return
        if not shape.is_open and shape.raw == target.raw:
            return
        if not self._types(shape, target, steps):
            return
        self._enum(shape, target, steps)
        if "array" in shape.types and shape.items is not None and target.items is not None:
            self._value(shape.items, target.items, (*steps, EACH))
        elif "object" in shape.types and "object" in target.types:
            self._object(shape, target, steps)

    def _object(self, shape: ChangingSchema, target: ChangingSchema, steps: FieldSteps) -> None:
        for name, child in shape.properties.items():
            if not steps and name in _IDENTITY:
                continue
            there = target.child(name)
            if there is not None:
                self._value(child, there, (*steps, name))
            elif child.is_computed or child.is_emptied:
                continue
            elif child.placed:
                self._report.problem(child.placed, f"{self._target} has no field {path_text((*steps, name))}")
            else:
                self._report.carried.append(CarriedField(self._source, self._target, path_text((*steps, name))))
        if shape.additional is not None and target.additional is not None:
            self._value(shape.additional, target.additional, (*steps, EACH))
        elif shape.additional is not None and not target.preserves:
            text = f"{path_text(steps)} is a map from {self._source}, and an object with named fields in {self._target}"
            self._report.warn(shape.placed or self._spoke, f"{text}: other entries are carried")
        self._required(shape, target, steps)

    def _required(self, shape: ChangingSchema, target: ChangingSchema, steps: FieldSteps) -> None:
        for name in sorted(target.required):
            if (not steps and name in _IDENTITY) or self._travel.has_surely(shape, name):
                continue
            there = target.properties.get(name)
            if there is not None and there.raw.get("default") is not None:
                continue
            place, text = shape.placed or self._spoke, path_text((*steps, name))
            if shape.child(name) is None:
                message = f"{self._target} requires {text}, for which {self._source} has no source: add a default"
                self._report.problem(place, message, (self._target, text))
            else:
                message = f"{self._target} requires {text}, which objects of {self._source} may lack: a default would give it to all"
                self._report.warn(place, message, (self._target, text))

    def _types(self, shape: ChangingSchema, target: ChangingSchema, steps: FieldSteps) -> bool:
        """Return whether the types agree. Report those that do not."""
        actual, wanted = shape.types, target.types
        if not actual or not wanted:
            return True
        accepted = frozenset().union(*(_WIDER.get(each, frozenset({each})) for each in wanted))
        if shape.is_convertible:
            accepted |= frozenset({"string"}) if wanted & {"integer", "boolean"} else frozenset()
        if actual <= accepted:
            return True
        place, names = shape.placed or self._spoke, " or ".join(sorted(wanted))
        text = f"{path_text(steps)} is of type {' or '.join(sorted(actual))} from {self._source}, and {names} in {self._target}"
        if actual & accepted:
            self._report.warn(place, f"{text}: other values become invalid", (self._target, path_text(steps)))
            return True
        self._report.problem(place, text if shape.placed else f"{text}; no rule converts it")
        return False

    def _enum(self, shape: ChangingSchema, target: ChangingSchema, steps: FieldSteps) -> None:
        actual, allowed = shape.raw.get("enum"), target.raw.get("enum")
        if not allowed or shape.raw is ANYTHING:
            return
        mapped = [value for value, _place in shape.constants]
        left = [value for value in actual or () if value not in allowed and value not in mapped]
        path = path_text(steps)
        if not actual:
            kind = "text" if shape.types == {"string"} else "value"
            text = f"{path} may have any {kind} from {self._source}, and {self._target} allows only {_listed(allowed)}"
        elif left:
            text = f"{path} may have values from {self._source} that {self._target} does not allow: {_listed(left)}"
        else:
            return
        self._report.warn(shape.placed or self._spoke, text, (self._target, path))

    def _constants(self, shape: ChangingSchema, target: ChangingSchema) -> bool:
        """Return whether the target allows all values that rules give. Report the others."""
        is_fine = True
        for value, place in shape.constants:
            wanted = target.types
            kinds = {type_of(value)} | ({"number"} if type_of(value) == "integer" else set())
            if wanted and not kinds & wanted:
                is_fine = False
                self._report.problem(place, f"the value {value!r} is not of type {' or '.join(sorted(wanted))}, as {self._target} wants")
                continue
            for error in _errors(value, target.raw):
                is_fine = False
                self._report.problem(place, f"{self._target} does not allow the value {value!r}: {error}")
        return is_fine


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(repr, values[:_SHOWN_VALUES])) + (", ..." if len(values) > _SHOWN_VALUES else "")


def _errors(value: Any, raw: Any) -> list[str]:
    """Return why a schema does not allow a value."""
    schema = CompiledSchema({"type": "object", "properties": {"value": raw}})
    return [each.body() for each in schema.validate_values({"value": value})]


def check_added_levels(rules: Sequence[PlacedRule], report: CheckReport) -> None:
    """Report the rules of a spoke that nest a value too deeply, in either direction."""
    for ordered, forth in ((rules, True), (tuple(reversed(rules)), False)):
        levels = _Levels()
        for each in ordered:
            found = levels.take(each.rule if forth else inverse(each.rule), copies=forth)
            if found is not None and found[1] > MAX_ADDED_LEVELS:
                path, number = found
                text = f"{path_text(path)} can be nested {number} levels deeper than before, and rules may add {MAX_ADDED_LEVELS}"
                report.problem(each.name, text)
                break


class _Levels:
    """The levels that rules have added to values so far, by the path of the value."""

    def __init__(self) -> None:
        self._added: dict[FieldSteps, int] = {}
        self._within: dict[FieldSteps, int] = {}
        """The greatest number at a path and below."""

    def take(self, rule: Rule, *, copies: bool) -> tuple[FieldSteps, int] | None:
        """Note what a rule adds. Return the path and the levels that the value there has now; None if it adds none."""
        match rule:
            case model.Move(source, target):
                return self._put(target, self._at(source) + len(target) - len(source))
            case model.Copy(source, target) if copies:
                return self._put(target, self._at(source) + len(target) - len(source))
            case model.Wrap(path, member):
                return self._put((*path, EACH if member is None else member), self._at(path) + 1)
            case model.MapToList(path, _, value) if value is not None:
                return self._put((*path, EACH, value), self._at(path) + 1)
        return None

    def _at(self, path: FieldSteps) -> int:
        around = (self._added.get(path[:length], 0) for length in range(1, len(path)))
        return max(self._within.get(path, 0), *around, 0)

    def _put(self, path: FieldSteps, levels: int) -> tuple[FieldSteps, int] | None:
        if levels <= 0:
            return None
        self._added[path] = max(levels, self._added.get(path, 0))
        for length in range(1, len(path) + 1):
            self._within[path[:length]] = max(levels, self._within.get(path[:length], 0))
        return path, levels


def check_rules(rules: ConversionRules, schemas: Mapping[str, CompiledSchema]) -> CheckReport:
    """Return all findings about rules for the schemas of a CRD's versions. Expressions are checked where they are compiled."""
    report = CheckReport()
    _check_versions(rules, schemas, report)
    if rules.hub in schemas:
        for index, spoke in enumerate(rules.spokes):
            if spoke.version in schemas and spoke.version != rules.hub:
                _Spoke(rules, index, schemas, report).check()
    _check_independence(rules, report)
    report.carried = list(dict.fromkeys(report.carried))
    return report


def _check_versions(rules: ConversionRules, schemas: Mapping[str, CompiledSchema], report: CheckReport) -> None:
    known = ", ".join(schemas)
    if rules.hub not in schemas:
        report.problem("spec.hub", f"{rules.name} has no version {rules.hub}; it has {known}")
    for index, spoke in enumerate(rules.spokes):
        place = f"{spoke_path(index)}.version"
        if spoke.version not in schemas:
            report.problem(place, f"{rules.name} has no version {spoke.version}; it has {known}")
    missing = schemas.keys() - {rules.hub, *(spoke.version for spoke in rules.spokes)}
    if missing:
        report.problem(
            "spec.spokes", f"rules for version {' and '.join(sorted(missing))} are missing; `rules: []` says that the fields are the same"
        )


class _Spoke:
    """The check of one spoke."""

    def __init__(self, rules: ConversionRules, index: int, schemas: Mapping[str, CompiledSchema], report: CheckReport) -> None:
        self._hub = rules.hub
        self._version = rules.spokes[index].version
        self._path = spoke_path(index)
        self._schemas = schemas
        self._report = report
        self._rules: Sequence[PlacedRule] = placed_rules(rules, index)

    def check(self) -> None:
        """Send the schema of each side to the other one."""
        check_added_levels(self._rules, self._report)
        there = self._travel(self._version)
        travel_to_hub(there, self._rules)
        self._arrive(there, self._hub)
        back = self._travel(self._hub)
        travel_to_spoke(back, self._rules)
        self._arrive(back, self._version)
        for each in self._rules:
            if isinstance(each.rule, Drop):
                self._check_drop(each, each.rule)

    def _travel(self, version: str) -> Travel:
        return Travel(self._shape(version), self._shape(version), version, self._report)

    def _arrive(self, travel: Travel, target: str) -> None:
        Arrival(travel, target, self._path, self._report).compare(self._shape(target))
        self._report.carried += [CarriedField(travel.version, target, path_text(steps)) for steps in travel.unwrapped]

    def _check_drop(self, each: PlacedRule, rule: Drop) -> None:
        version = self._version if rule.side is Side.SPOKE else self._hub
        self._report.losses.append(DeclaredLoss(version, path_text(rule.path), rule.reason))

    def _shape(self, version: str) -> ChangingSchema:
        schema = self._schemas[version]
        return shape_of(schema.structural.raw, preserves=schema.preserve_unknown_fields)


def _check_independence(rules: ConversionRules, report: CheckReport) -> None:
    """Warn of a field that two spokes have and the hub lacks: each version has its own value."""
    versions: dict[str, list[str]] = defaultdict(list)
    for each in dict.fromkeys(report.carried):
        if each.target == rules.hub:
            versions[each.path].append(each.version)
    for path, names in versions.items():
        if len(names) > 1:
            places = [index for index, spoke in enumerate(rules.spokes) if spoke.version in names]
            several = " and ".join(names)
            report.warn(
                spoke_path(places[-1]), f"{several} have {path}, which the hub {rules.hub} lacks: a change in one does not reach the other"
            )
