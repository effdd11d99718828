"""The check of the rules of a CRD: each spoke there and back, and the spokes together."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from apiext.resources.conversion.rules import model
from apiext.resources.conversion.rules.check.arrival import Arrival
from apiext.resources.conversion.rules.check.places import placed_rules, spoke_path
from apiext.resources.conversion.rules.check.report import CarriedField, CheckReport, DeclaredLoss
from apiext.resources.conversion.rules.check.rule_travels import travel_to_hub, travel_to_spoke
from apiext.resources.conversion.rules.check.shape import ChangingSchema, shape_of
from apiext.resources.conversion.rules.check.travel import Travel
from apiext.resources.conversion.rules.inverse import inverse
from apiext.resources.conversion.rules.model import EACH, Drop, Side
from apiext.resources.conversion.rules.paths import path_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.resources.conversion.rules.check.places import PlacedRule
    from apiext.resources.conversion.rules.model import ConversionRules, FieldSteps, Rule
    from apiext.schema.compiled import CompiledSchema


MAX_ADDED_LEVELS: Final = 20
"""Levels of objects and lists that the rules of a spoke may add to a value in one direction. With those of two spokes an object of
`limits.MAX_DEPTH` can still be written."""


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
        Arrival(travel.version, target, self._path, self._report).compare(travel.shape, self._shape(target))
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
