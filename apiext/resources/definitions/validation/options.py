"""Options of validation. A create enables all rules, an update those that the old definition already follows (ratcheting)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta import field
from apiext.base.meta.encoding import json_values
from apiext.resources.definitions.conditions import ESTABLISHED, is_true
from apiext.resources.definitions.validation import known_schemas, schemas
from apiext.resources.definitions.validation.client_config import ca_bundle_errors, has_known_review_version
from apiext.resources.definitions.validation.list_types import is_non_atomic_set, map_key_errors
from apiext.schema.cel.rules.rule import NO_EXPRESSIONS, StoredExpressions
from apiext.schema.defaulting.prune import has_unpruned_defaults
from apiext.schema.model import RULES, Structural, unsupported_field
from apiext.schema.structural import structural_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.schema.model import Props

MAX_SELECTABLE_FIELDS: Final = 8
"""Selectable fields of a version."""


@dataclass(frozen=True, slots=True)
class ValidationOptions:
    """Rules to enforce."""

    recognized_review_version: bool = True
    immutable_names: bool = False
    schemas_everywhere: bool = True
    valid_types: bool = True
    structural: bool = True
    pruned_defaults: bool = True
    atomic_sets: bool = True
    map_keys: bool = True
    ca_bundle: bool = False
    too_many_selectable: frozenset[str] = frozenset()
    """Versions ("" for the spec) that may keep more than MAX_SELECTABLE_FIELDS selectable fields."""
    stored_expressions: StoredExpressions = NO_EXPRESSIONS
    """Expressions of the definition before the update."""
    unchanged_versions: frozenset[str] = frozenset()
    """Versions with unchanged schemas: the cost of their expressions is not limited."""

    @property
    def is_strict(self) -> bool:
        """Return whether all rules for schemas are enforced, except those for expressions."""
        return self.structural and self.valid_types and self.pruned_defaults and self.atomic_sets and self.map_keys


CREATE: Final = ValidationOptions()


def for_update(spec: Object, old_spec: Object, old: Object) -> ValidationOptions:
    """Return the rules for an update; specs are in v1beta1 form."""
    conversion = old_spec["conversion"]
    if all(known_schemas.digest(root) in known_schemas.VALID for root in schemas.root_schemas(old_spec)):
        # they obey all rules for schemas
        rest = CREATE
    else:
        rest = _obeyed(old_spec)
    return replace(
        rest,
        recognized_review_version=has_known_review_version(conversion.get("conversionReviewVersions") or []),
        immutable_names=is_true(old, ESTABLISHED),
        schemas_everywhere=_has_schemas_everywhere(old_spec),
        ca_bundle=is_true(old, ESTABLISHED) and not _has_invalid_ca_bundle(conversion),
        too_many_selectable=frozenset(_unchanged_excess(spec, old_spec)),
        stored_expressions=_expressions(old_spec),
        unchanged_versions=frozenset(_unchanged_versions(spec, old_spec)),
    )


def _obeyed(old_spec: Object) -> ValidationOptions:
    """Return the rules for schemas that those of a spec obey."""
    return ValidationOptions(
        valid_types=not schemas.any_schema(old_spec, schemas.has_invalid_type),
        structural=not any(map(_is_non_structural, schemas.root_schemas(old_spec))),
        pruned_defaults=not any(map(_has_unpruned_defaults, schemas.root_schemas(old_spec))),
        atomic_sets=not schemas.any_schema(old_spec, is_non_atomic_set),
        map_keys=not schemas.any_schema(old_spec, lambda node: bool(map_key_errors(node, field.ROOT))),
    )


def has_defaults(spec: Object) -> bool:
    """Report whether any schema of a spec has a default."""
    return schemas.any_schema(spec, lambda node: node.get("default") is not None)


def _has_schemas_everywhere(spec: Object) -> bool:
    if schemas.openapi_schema(spec.get("validation")) is not None:
        return True
    return all(schemas.openapi_schema(version.get("schema")) is not None for version in spec.get("versions", ()))


def _is_non_structural(root: Props) -> bool:
    return bool(unsupported_field(root)) or bool(structural_errors(root, field.ROOT))


def _has_unpruned_defaults(root: Props) -> bool:
    if not any(node.get("default") is not None for node in schemas.nodes(root)) or _is_non_structural(root):
        return False
    return has_unpruned_defaults(Structural(root))


def _has_invalid_ca_bundle(conversion: Object) -> bool:
    bundle = (conversion.get("webhookClientConfig") or {}).get("caBundle")
    return bundle is not None and bool(ca_bundle_errors(bundle, field.ROOT))


def _unchanged_excess(spec: Object, old_spec: Object) -> list[str]:
    def excess(new: Object, old: Object) -> bool:
        previous = old.get("selectableFields") or []
        return len(previous) > MAX_SELECTABLE_FIELDS and json_values.equal(new.get("selectableFields"), previous)

    old_versions = {version["name"]: version for version in old_spec.get("versions", ())}
    names = [version["name"] for version in spec.get("versions", ()) if excess(version, old_versions.get(version["name"], {}))]
    return [*names, ""] if excess(spec, old_spec) else names


def _expressions(spec: Object) -> StoredExpressions:
    rules = [rule for root in schemas.root_schemas(spec) for node in schemas.nodes(root) for rule in node.get(RULES) or ()]
    messages = (rule.get("messageExpression") for rule in rules)
    return StoredExpressions(frozenset(rule["rule"] for rule in rules), frozenset(message for message in messages if message))


def _unchanged_versions(spec: Object, old_spec: Object) -> Iterator[str]:
    new, old = _validations(spec), _validations(old_spec)
    for version in spec.get("versions", ()):
        name = version["name"]
        # a schema in the spec counts for every version, even for a missing one
        previous = old.get(name, old.get("", old))
        if previous is not old and json_values.equal(new.get(name, new.get("")), previous):
            yield name


def _validations(spec: Object) -> dict[str, Any]:
    """Return the schemas of the versions by name; one of the spec under "" (GetSchemaForVersion)."""
    versions = spec.get("versions", ())
    if not any(version.get("schema") for version in versions):
        return {"": spec.get("validation")}
    return {version["name"]: version.get("schema") for version in versions}
