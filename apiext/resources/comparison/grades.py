"""Grades of changes: the rules' own, and what a file of grades sets for rules, definitions, versions and fields.

A file is YAML or JSON that follows `data/grades.json`, or a configuration file of crdify.

Crdify config: kubernetes-sigs/crdify pkg/config.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import orjson

from apiext.base.meta.configuration import ConfigurationError, parse_configuration
from apiext.resources.comparison.change import Change, Grade, Hurts, UngradedChange
from apiext.resources.comparison.rules import RULES, UNHANDLED

_ALL: Final = "*"
_OF_CRDIFY: Final = frozenset({"validations", "unhandledEnforcement"})
"""Members that only a configuration of crdify has."""


def is_below(path: str, above: str) -> bool:
    """Report whether a field is another one, or below it. All fields are below the root, which is empty."""
    return not above or (path.startswith(above) and path[len(above) : len(above) + 1] in ("", ".", "["))


@dataclass(frozen=True, slots=True)
class Place:
    """Which changes a grade is for. Patterns have `*` and `?`."""

    definition: str = _ALL
    """Pattern of the definition's name, `widgets.example.com`."""
    version: str = _ALL
    """Pattern of the version."""
    path: str = ""
    """A field: the place has it and the fields below it. Empty: all."""

    def has(self, definition: str, version: str, path: str) -> bool:
        """Report whether a change is here."""
        if not fnmatchcase(definition, self.definition) or not fnmatchcase(version, self.version):
            return False
        return is_below(path, self.path)


@dataclass(frozen=True, slots=True)
class GradesAt:
    """Grades for a place."""

    place: Place
    rules: Mapping[str, Grade]


@dataclass(frozen=True, slots=True)
class ExceptionAt:
    """Changes to ignore at a place, and why."""

    place: Place
    rules: frozenset[str]
    """Names of rules; empty for all."""
    reason: str


@dataclass(frozen=True, slots=True)
class Grades:
    """Grades of changes. Without arguments, the rules' own."""

    rules: Mapping[str, Grade] = field(default_factory=dict)
    """Grades by the name of the rule."""
    places: Sequence[GradesAt] = ()
    """Grades for places; the last one that fits counts."""
    exceptions: Sequence[ExceptionAt] = ()
    """The first one that fits counts, before all grades."""
    compares_converted_versions: bool = False
    """Whether the served versions of a definition are compared even if a webhook converts between them."""

    def graded(self, change: UngradedChange, definition: str, version: str, *, is_used: bool = True) -> Change:
        """Return a change with its grade.

        Args:
            change: the change.
            definition: name of the definition.
            version: the version, as in Change.
            is_used: whether clients can use what changes: the version is served before and after, a webhook would be called. If not,
                few changes hurt.
        """
        rule = RULES[change.rule]
        hurts, grade, reason = rule.hurts, rule.grade, ""
        if not is_used and not rule.hurts_unserved and hurts is not Hurts.NOBODY:
            hurts, grade = Hurts.NOBODY, Grade.NOTE
        grade = self.rules.get(rule.name, grade)
        for at in self.places:
            if rule.name in at.rules and at.place.has(definition, version, change.path):
                grade = at.rules[rule.name]
        for exception in self.exceptions:
            if (not exception.rules or rule.name in exception.rules) and exception.place.has(definition, version, change.path):
                grade, reason = Grade.IGNORE, exception.reason
                break
        return Change(rule.name, version, change.path, change.message, hurts, grade, reason)


_GRADES: Final = {"Error": Grade.ERROR, "Warn": Grade.WARNING, "None": Grade.IGNORE}
VALIDATIONS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        validation: tuple(rule.name for rule in RULES.values() if rule.crdify == validation)
        for validation in dict.fromkeys(rule.crdify for rule in RULES.values() if rule.crdify)
    }
)
"""The rules that a validation of crdify consists of, by its name; `unhandled` has the changes that no validation of crdify knows."""
POLICIES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = MappingProxyType(
    {
        ("enum", "additionPolicy"): ("enumValueAdded",),
        ("nullable", "additionPolicy"): ("nullableAdded",),
        ("nullable", "removalPolicy"): ("nullableRemoved",),
        ("pattern", "removalPolicy"): ("patternRemoved",),
        ("oneOf", "removalPolicy"): ("oneOfWidened",),
    }
)
"""The rules that a policy of a validation switches off if it is Allow. oneOf's additionPolicy also allows new clauses."""


def crdify_grades(config: Mapping[str, Any]) -> Grades:
    """Return the grades of a configuration that follows `data/crdify.json`. Rules that crdify does not have keep their own grades.

    A later entry for a validation replaces an earlier one.
    """
    grades = dict.fromkeys((name for names in VALIDATIONS.values() for name in names), Grade.ERROR)
    grades |= dict.fromkeys(VALIDATIONS[UNHANDLED], _GRADES[config.get("unhandledEnforcement") or "Error"])
    for validation in config.get("validations") or ():
        grades |= _validation_grades(validation)
    return Grades(grades, compares_converted_versions=(config.get("conversion") or "None") == "None")


def _validation_grades(validation: Mapping[str, Any]) -> dict[str, Grade]:
    name = validation["name"]
    grades = dict.fromkeys(VALIDATIONS[name], _GRADES[validation["enforcement"]])
    return grades | dict.fromkeys(_allowed(name, validation.get("configuration") or {}), Grade.IGNORE)


def _allowed(validation: str, configuration: Mapping[str, str]) -> Iterator[str]:
    for policy, value in configuration.items():
        if value == "Allow":
            yield from POLICIES.get((validation, policy), ())


OLM: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "conversion": "Ignore",
        "unhandledEnforcement": "Error",
        "validations": (
            {"name": "description", "enforcement": "None"},
            {"name": "enum", "enforcement": "Error", "configuration": {"additionPolicy": "Allow"}},
        ),
    }
)
"""The configuration with which OLM v1 checks upgrades of CRDs (operator-controller, crdupgradesafety)."""


def read_grades(path: Path | str) -> Grades:
    """Return the grades of a file.

    Raises:
        ConfigurationError: the file cannot be read, or does not follow the schema. The message is one line with the file's name and
            the path of each error in it.
    """
    try:
        data = Path(path).read_bytes()
        found = parse_configuration(data, {"type": "object"})
        return _from_crdify(data) if _OF_CRDIFY & found.keys() else _from_grades(data)
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from error
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def named_grades(name: str) -> Grades:
    """Return the grades `default`, `crdify` or `olm`.

    Raises:
        KeyError: there are no grades of this name.
    """
    return {"default": Grades(), "crdify": crdify_grades({}), "olm": crdify_grades(OLM)}[name]


@cache
def grades_schema() -> Mapping[str, Any]:
    """Return the JSON Schema of files of grades."""
    return _schema("grades")


def _schema(name: str) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = orjson.loads((files("apiext.resources.comparison") / "data" / f"{name}.json").read_bytes())
    return schema


def _from_crdify(data: bytes) -> Grades:
    return crdify_grades(parse_configuration(data, _schema("crdify")))


def _from_grades(data: bytes) -> Grades:
    found = parse_configuration(data, grades_schema())
    base = named_grades(found.get("base", "default"))
    converted = found.get("compareConvertedVersions", base.compares_converted_versions)
    return Grades(
        {**base.rules, **_by_rule(found.get("rules", {}))},
        tuple(GradesAt(_place(place), _by_rule(place["rules"])) for place in found.get("places", ())),
        tuple(ExceptionAt(_place(place), frozenset(place.get("rules", ())), place["reason"]) for place in found.get("exceptions", ())),
        compares_converted_versions=converted,
    )


def _by_rule(grades: Mapping[str, str]) -> dict[str, Grade]:
    return {name: Grade(grade) for name, grade in grades.items()}


def _place(place: Mapping[str, Any]) -> Place:
    return Place(**{key: place[key] for key in ("definition", "version", "path") if key in place})
