"""The check of the rules of a CRD: each spoke there and back, and the spokes together."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from apiext.conversion.rules.check.added_levels import check_added_levels
from apiext.conversion.rules.check.arrival import Arrival
from apiext.conversion.rules.check.places import placed_rules, spoke_path
from apiext.conversion.rules.check.report import CarriedField, CheckReport, DeclaredLoss
from apiext.conversion.rules.check.rule_travels import travel_to_hub, travel_to_spoke
from apiext.conversion.rules.check.shape import ChangingSchema, shape_of
from apiext.conversion.rules.check.travel import Travel
from apiext.conversion.rules.model import Drop, Side
from apiext.conversion.rules.paths import path_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.conversion.rules.check.places import PlacedRule
    from apiext.conversion.rules.model import ConversionRules
    from apiext.schema.compiled import CompiledSchema


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
