"""Grades as crdify and OLM v1 set them, and from a configuration file of crdify (kubernetes-sigs/crdify pkg/config)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from apiext.tools.comparison.change import Grade
from apiext.tools.comparison.grades import Grades
from apiext.tools.comparison.rules import RULES, UNHANDLED

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
