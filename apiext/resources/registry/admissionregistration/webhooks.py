"""Validation of webhook configurations (kubernetes pkg/apis/admissionregistration/validation/validation.go).

An update tolerates some errors that the old object has too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.encoding import json_values
from apiext.base.meta.objectmeta import validation
from apiext.resources.definitions.validation.client_config import (
    REVIEW_VERSIONS,
    client_config_errors,
    has_known_review_version,
    review_version_errors,
)
from apiext.resources.registry.admissionregistration.expressions import match_condition_errors
from apiext.resources.registry.admissionregistration.rules import MATCH_POLICIES, rule_errors, unsupported
from apiext.resources.registry.builtin.shared_rules import label_selector_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path

_WEBHOOKS: Final = field.Path("webhooks")
FAILURE_POLICIES: Final = ("Fail", "Ignore")
REINVOCATION_POLICIES: Final = ("IfNeeded", "Never")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")
_NO_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_MAX_TIMEOUT_SECONDS: Final = 30
_QUALIFIED_SEGMENTS: Final = 3
_SELECTORS: Final = ("namespaceSelector", "objectSelector")


@dataclass(frozen=True, slots=True)
class _Strictness:
    """Which rules apply to the webhooks of a configuration."""

    match_conditions: bool = True
    side_effects: tuple[str, ...] = _NO_SIDE_EFFECTS
    recognized_version: bool = True
    unique_names: bool = True
    any_selector_value: bool = False
    stored_conditions: frozenset[str] = frozenset()
    """Expressions of match conditions that the old object has."""


_STRICT: Final = _Strictness()


def webhook_configuration_errors(configuration: Object, old: Object | None = None) -> list[FieldError]:
    """Return the errors of a new configuration, or of an update of an old one."""
    problems = validation.validate(configuration["metadata"], namespaced=False, name_rule=names.name_is_dns_subdomain)
    webhooks = configuration.get("webhooks", ())
    strictness = _STRICT if old is None else _strictness(webhooks, old.get("webhooks", ()))
    known: set[str] = set()
    for index, webhook in enumerate(webhooks):
        path, name = _WEBHOOKS.index(index), webhook["name"]
        problems += _webhook_errors(webhook, path, strictness)
        problems += _review_version_errors(webhook["admissionReviewVersions"] or (), path.child("admissionReviewVersions"), strictness)
        if strictness.unique_names and name in known:
            problems.append(field.duplicate(path.child("name"), name))
        known |= {name} if name else set()
    return problems


def _strictness(webhooks: Sequence[Object], old: Sequence[Object]) -> _Strictness:
    conditions = [webhook.get("matchConditions", ()) for webhook in old]
    are_equal = json_values.equal([webhook.get("matchConditions", ()) for webhook in webhooks], conditions)
    has_no_effects = all(webhook["sideEffects"] in _NO_SIDE_EFFECTS for webhook in old)
    return _Strictness(
        match_conditions=not are_equal,
        side_effects=_NO_SIDE_EFFECTS if has_no_effects else _SIDE_EFFECTS,
        recognized_version=all(has_known_review_version(webhook["admissionReviewVersions"] or ()) for webhook in old),
        unique_names=len({webhook["name"] for webhook in old}) == len(old),
        any_selector_value=any(label_selector_errors(webhook[name], field.Path(name)) for webhook in old for name in _SELECTORS),
        stored_conditions=frozenset(condition["expression"] for one in conditions for condition in one),
    )


def _webhook_errors(webhook: Object, path: Path, strictness: _Strictness) -> list[FieldError]:
    problems = _name_errors(webhook["name"], path.child("name"))
    for index, rule in enumerate(webhook.get("rules", ())):
        problems += rule_errors(rule, path.child("rules").index(index))
    problems += unsupported(webhook["failurePolicy"], FAILURE_POLICIES, path.child("failurePolicy"))
    problems += unsupported(webhook["matchPolicy"], MATCH_POLICIES, path.child("matchPolicy"))
    problems += _side_effect_errors(webhook["sideEffects"], path.child("sideEffects"), strictness)
    timeout = webhook["timeoutSeconds"]
    if not 1 <= timeout <= _MAX_TIMEOUT_SECONDS:
        problems.append(field.invalid(path.child("timeoutSeconds"), timeout, "the timeout value must be between 1 and 30 seconds"))
    for name in _SELECTORS:
        problems += label_selector_errors(webhook[name], path.child(name), any_value=strictness.any_selector_value)
    if "reinvocationPolicy" in webhook:
        problems += unsupported(webhook["reinvocationPolicy"], REINVOCATION_POLICIES, path.child("reinvocationPolicy"))
    problems += client_config_errors(webhook["clientConfig"], path.child("clientConfig"))
    if strictness.match_conditions:
        conditions = webhook.get("matchConditions", ())
        problems += match_condition_errors(conditions, path.child("matchConditions"), stored=strictness.stored_conditions)
    return problems


def _name_errors(name: str, path: Path) -> list[FieldError]:
    if not name:
        return [field.required(path)]
    if problems := names.dns1123_subdomain(name):
        return [field.invalid(path, name, ",".join(problems))]
    if name.count(".") + 1 < _QUALIFIED_SEGMENTS:
        return [field.invalid(path, name, "should be a domain with at least three segments separated by dots")]
    return []


def _side_effect_errors(effects: str | None, path: Path, strictness: _Strictness) -> list[FieldError]:
    if effects is None:
        return [field.required(path, f"must specify one of {', '.join(strictness.side_effects)}")]
    return unsupported(effects, strictness.side_effects, path)


def _review_version_errors(versions: Sequence[str], path: Path, strictness: _Strictness) -> list[FieldError]:
    if not versions:
        return [field.required(path, f"must specify one of {', '.join(REVIEW_VERSIONS)}")]
    return review_version_errors(versions, path, recognized=strictness.recognized_version)
