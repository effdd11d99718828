"""Comparison of two definitions: names, scope, conversion, and every version; and of the served versions of one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Final

from apiext.base.meta.kube_version import kube_aware_key
from apiext.resources.comparison.change import Change, Direction, Grade, Hurts, UngradedChange
from apiext.resources.comparison.field_keywords import OtherFields, map_values, other_fields
from apiext.resources.comparison.grades import Grades, is_below
from apiext.resources.comparison.rules import RULES
from apiext.resources.comparison.schema_comparison import compare_schemas
from apiext.resources.comparison.shown import shown
from apiext.resources.comparison.type_keywords import type_of
from apiext.resources.definitions.definition import Definition, PrinterColumn, Version
from apiext.schema.model import Props

_NO_VERSION: Final = ""
PAIR: Final = " -> "
"""Stands between the two versions of a change from one version of a definition to another."""

_REPLICAS_PATHS: Final = ("specReplicasPath", "statusReplicasPath")
_SELECTOR_PATH: Final = "labelSelectorPath"
_MOST: Final = 2**31 - 1
_UNKNOWN: Final[Props] = {"x-kubernetes-preserve-unknown-fields": True}
_COLUMN_MEMBERS: Final = {
    "type": "type",
    "json_path": "JSON path",
    "format": "format",
    "priority": "priority",
    "description": "description",
}


def version_added(version: Version) -> UngradedChange:
    """Return the change for a version that the old definition does not have."""
    if version.served:
        return UngradedChange("versionAdded", f"version {version.name} was added")
    return UngradedChange("unservedVersionAdded", f"version {version.name} was added, and is not served")


def version_removed(version: Version) -> UngradedChange:
    """Return the change for a version that the new definition does not have."""
    if version.served:
        return UngradedChange("versionRemoved", f"version {version.name} was removed")
    return UngradedChange("unservedVersionRemoved", f"version {version.name}, which was not served, was removed")


def compare_versions(old: Version, new: Version) -> list[UngradedChange]:
    """Return the changes of a version that both definitions have, or from one version to another."""
    return [
        *_serving(old, new),
        *_deprecation(old, new),
        *_status(old, new),
        *_scale(old.scale, new.scale),
        *_scale_values(old, new),
        *_columns(old.printer_columns, new.printer_columns),
        *_selectable_fields(old, new),
        *compare_schemas(old.schema, new.schema),
    ]


def _serving(old: Version, new: Version) -> Iterator[UngradedChange]:
    if old.served != new.served:
        yield UngradedChange(
            *(("versionServed", "the version is served") if new.served else ("versionUnserved", "the version is not served"))
        )


def _deprecation(old: Version, new: Version) -> Iterator[UngradedChange]:
    if old.deprecated != new.deprecated:
        if new.deprecated:
            yield UngradedChange("versionDeprecated", "the version became deprecated")
        else:
            yield UngradedChange("versionUndeprecated", "the version is no longer deprecated")
    elif old.deprecation_warning != new.deprecation_warning:
        before, after = (version.deprecation_warning or "the default text" for version in (old, new))
        yield UngradedChange("deprecationWarningChanged", f"the warning changed from {shown(before)} to {shown(after)}")


def _status(old: Version, new: Version) -> Iterator[UngradedChange]:
    if old.has_status != new.has_status:
        if new.has_status:
            yield UngradedChange("statusSubresourceAdded", "the status subresource was added")
        else:
            yield UngradedChange("statusSubresourceRemoved", "the status subresource was removed")


def _scale(old: Mapping[str, str] | None, new: Mapping[str, str] | None) -> Iterator[UngradedChange]:
    if old is None or new is None:
        if new is not None:
            yield UngradedChange("scaleSubresourceAdded", "the scale subresource was added")
        elif old is not None:
            yield UngradedChange("scaleSubresourceRemoved", "the scale subresource was removed")
        return
    for member in _REPLICAS_PATHS:
        if old.get(member) != new.get(member):
            yield UngradedChange("scaleReplicasPathChanged", f"{member} changed from {old.get(member)} to {new.get(member)}")
    before, after = (scale.get(_SELECTOR_PATH) or "" for scale in (old, new))
    if before != after:
        if before and after:
            yield UngradedChange("scaleSelectorPathChanged", f"{_SELECTOR_PATH} changed from {before} to {after}")
        elif after:
            yield UngradedChange("scaleSelectorPathAdded", f"{_SELECTOR_PATH} {after} was added")
        else:
            yield UngradedChange("scaleSelectorPathRemoved", f"{_SELECTOR_PATH} {before} was removed")


def _scale_values(old: Version, new: Version) -> Iterator[UngradedChange]:
    """Yield the fields of the new scale whose former values the server may refuse: it does so in every update, also of another field."""
    before, after = old.scale or {}, new.scale or {}
    for member in (*_REPLICAS_PATHS, _SELECTOR_PATH):
        path = (after.get(member) or "").removeprefix(".")
        schema = _schema_at(old.schema or _UNKNOWN, path.split("."))
        if not path or after[member] == before.get(member) or schema is None:
            continue
        if member == _SELECTOR_PATH:
            is_fit, wanted = type_of(schema) == "string", "a string"
        else:
            is_fit, wanted = _is_count(schema), f"an integer from 0 to {_MOST}"
        if not is_fit:
            yield UngradedChange("scaleRefusesValues", f"{member} of the scale must be {wanted}, and the field may be another", path)


def _schema_at(schema: Props, steps: Sequence[str]) -> Props | None:
    """Return the schema of a field, None if the server drops it."""
    for step in steps:
        below: Props | None = (schema.get("properties") or {}).get(step)
        if below is None:
            below = _UNKNOWN if other_fields(schema) is OtherFields.UNKNOWN else map_values(schema)
        if below is None:
            return None
        schema = below
    return schema


def _is_count(schema: Props) -> bool:
    """Report whether a field has no values but integers that are not negative and have at most 32 bits."""
    least, most = schema.get("minimum", -1) + (schema.get("exclusiveMinimum") is True), schema.get("maximum", _MOST + 1)
    return type_of(schema) == "integer" and least >= 0 and (schema.get("format") == "int32" or most <= _MOST)


def _columns(old: tuple[PrinterColumn, ...], new: tuple[PrinterColumn, ...]) -> Iterator[UngradedChange]:
    before, after = ({column.name: column for column in columns} for columns in (old, new))
    for name, column in before.items():
        if name not in after:
            yield UngradedChange("printerColumnRemoved", f"column {name} was removed")
        elif column != after[name]:
            changed = [text for member, text in _COLUMN_MEMBERS.items() if _member(column, member) != _member(after[name], member)]
            yield UngradedChange("printerColumnChanged", f"{' and '.join(changed)} of column {name} changed")
    for name in after:
        if name not in before:
            yield UngradedChange("printerColumnAdded", f"column {name} was added")
    kept = [name for name in before if name in after]
    order = [name for name in after if name in before]
    if kept != order:
        yield UngradedChange("printerColumnsReordered", f"the order of columns changed from {', '.join(kept)} to {', '.join(order)}")


def _member(column: PrinterColumn, name: str) -> Any:
    return getattr(column, name)


def _selectable_fields(old: Version, new: Version) -> Iterator[UngradedChange]:
    for path in old.selectable_fields:
        if path not in new.selectable_fields:
            yield UngradedChange("selectableFieldRemoved", f"selectable field {path} was removed", path.removeprefix("."))
    for path in new.selectable_fields:
        if path not in old.selectable_fields:
            yield UngradedChange("selectableFieldAdded", f"selectable field {path} was added", path.removeprefix("."))


def compare_definitions(old: Definition | None, new: Definition | None, grades: Grades) -> list[Change]:
    """Return the changes from one definition to another, the ignored ones with grade IGNORE.

    First those of the whole definition, then those of each version in the order of the new definition, each sorted by path and rule.

    Args:
        old: the definition that is there; None if there is none.
        new: the definition that replaces it; None if it is removed.
        grades: sets the grade of each change.
    """
    if old is None or new is None:
        return list(_presence(old, new, grades))
    name = new.name
    whole = [(change, True) for change in _whole(old, new)]
    # with one version, nothing is converted
    converts = max(len(old.versions), len(new.versions)) > 1
    whole += ((change, converts) for change in _conversion(_conversion_of(old), _conversion_of(new)))
    whole.sort(key=lambda pair: _order(pair[0]))
    changes = [grades.graded(change, name, _NO_VERSION, is_used=is_used) for change, is_used in whole]
    before, after = ({version.name: version for version in definition.versions} for definition in (old, new))
    for version in (*new.versions, *old.versions):
        one, other = before.get(version.name), after.get(version.name)
        if one is not None and other is not None:
            if version is one:
                continue
            is_used = one.served and other.served
            found = sorted(compare_versions(one, other), key=_order)
            changes += (grades.graded(change, name, version.name, is_used=is_used) for change in found)
        else:
            change = version_added(version) if one is None else version_removed(version)
            changes.append(grades.graded(change, name, version.name))
    return changes


def _order(change: UngradedChange) -> tuple[str, str, str]:
    return change.path, change.rule, change.message


def _presence(old: Definition | None, new: Definition | None, grades: Grades) -> Iterator[Change]:
    if new is not None:
        yield grades.graded(UngradedChange("definitionAdded", "the definition was added"), new.name, _NO_VERSION)
    elif old is not None:
        yield grades.graded(UngradedChange("definitionRemoved", "the definition was removed"), old.name, _NO_VERSION)


def _whole(old: Definition, new: Definition) -> Iterator[UngradedChange]:
    yield from _identity(old, new)
    yield from _names(old, new)
    yield from _storage(old, new)
    if old.preserve_unknown_fields != new.preserve_unknown_fields:
        name = "pruningDisabled" if new.preserve_unknown_fields else "pruningEnabled"
        before, after = (str(definition.preserve_unknown_fields).lower() for definition in (old, new))
        yield UngradedChange(name, f"preserveUnknownFields changed from {before} to {after}")


def _identity(old: Definition, new: Definition) -> Iterator[UngradedChange]:
    before, after = (_spec_names(definition) for definition in (old, new))
    scopes = ["Namespaced" if definition.namespaced else "Cluster" for definition in (old, new)]
    for rule, what, one, other in (
        ("groupChanged", "group", old.group, new.group),
        ("scopeChanged", "scope", *scopes),
        ("kindChanged", "kind", before["kind"], after["kind"]),
        ("pluralChanged", "plural name", before["plural"], after["plural"]),
        ("listKindChanged", "kind of lists", before.get("listKind") or "", after.get("listKind") or ""),
        ("singularChanged", "singular name", before.get("singular") or "", after.get("singular") or ""),
    ):
        if one != other:
            yield UngradedChange(rule, f"the {what} changed from {one} to {other}")


def _spec_names(definition: Definition) -> Mapping[str, Any]:
    """Return the names that the author wants; the accepted ones may be others."""
    names: Mapping[str, Any] = definition.head["spec"]["names"]
    return names


def _names(old: Definition, new: Definition) -> Iterator[UngradedChange]:
    for member, rule, what in (("shortNames", "shortName", "short name"), ("categories", "category", "category")):
        before, after = (dict.fromkeys(_spec_names(definition).get(member) or ()) for definition in (old, new))
        yield from (UngradedChange(f"{rule}Added", f"{what} {name} was added") for name in after if name not in before)
        yield from (UngradedChange(f"{rule}Removed", f"{what} {name} was removed") for name in before if name not in after)


def _storage(old: Definition, new: Definition) -> Iterator[UngradedChange]:
    before, after = old.storage_version.name, new.storage_version.name
    if before != after:
        yield UngradedChange("storageVersionChanged", f"the storage version changed from {before} to {after}")
    for version in old.head["status"].get("storedVersions") or ():
        if new.version(version) is None:
            yield UngradedChange("storedVersionRemoved", f"version {version}, in which objects may be stored, was removed")


def _conversion_of(definition: Definition) -> Mapping[str, Any]:
    conversion: Mapping[str, Any] = definition.head["spec"].get("conversion") or {}
    return conversion


def _conversion(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[UngradedChange]:
    before, after = (conversion.get("strategy") == "Webhook" for conversion in (old, new))
    if before != after:
        name = "conversionWebhookAdded" if after else "conversionWebhookRemoved"
        what = " to ".join(str(conversion.get("strategy")) for conversion in (old, new))
        yield UngradedChange(name, f"the conversion strategy changed from {what}")
        return
    clients = [(conversion.get("webhook") or {}).get("clientConfig") or {} for conversion in (old, new)]
    places = [_client_text(client) for client in clients]
    if places[0] != places[1]:
        yield UngradedChange("conversionWebhookMoved", f"the conversion webhook changed from {places[0]} to {places[1]}")
    if len({client.get("caBundle") or "" for client in clients}) > 1:
        yield UngradedChange("conversionCABundleChanged", "the authority of the conversion webhook's certificate changed")
    versions = [", ".join((conversion.get("webhook") or {}).get("conversionReviewVersions") or ()) for conversion in (old, new)]
    if versions[0] != versions[1]:
        yield UngradedChange("conversionReviewVersionsChanged", f"conversionReviewVersions changed from {versions[0]} to {versions[1]}")


def _client_text(client: Mapping[str, Any]) -> str:
    service = client.get("service")
    if service:
        return f"service {service.get('namespace')}/{service.get('name')}:{service.get('port')}{service.get('path') or ''}"
    return client.get("url") or "none"


def compare_served_versions(
    definition: Definition, grades: Grades, known: Definition | None = None, *, has_rules: bool = False
) -> list[Change]:
    """Return the changes from each served version to each other one that hurt anybody, or are graded so; the version is "v1beta1 -> v1".

    It matters most without a webhook: the server then only replaces apiVersion, drops the fields that the other version lacks, and checks
    an update by the schema of the version of its request.

    The storage version is compared even if it is not served: what it lacks, no version keeps. If a webhook or rules convert, there are
    no changes unless the grades ask for them.

    Args:
        definition: the definition.
        grades: sets the grade of each change.
        known: the definition before; changes that it has, too, from another version to the same one, are left out.
        has_rules: whether a Conversion applies to the definition.
    """
    if (has_rules or definition.conversion_strategy == "Webhook") and not grades.compares_converted_versions:
        return []
    former = {_harm_key(change) for change in _changes_between_served(known, grades)} if known is not None else ()
    return [change for change in _changes_between_served(definition, grades, known) if _harm_key(change) not in former]


def _harm_key(change: Change) -> tuple[str, str, str, str]:
    """Return what a change does in the version to which objects go, from whichever version."""
    return change.version.rpartition(PAIR)[2], change.path, change.rule, change.message


def _change_key(change: Change) -> tuple[str, str, str, str]:
    return change.version, change.path, change.rule, change.message


def _changes_between_served(definition: Definition, grades: Grades, known: Definition | None = None) -> list[Change]:
    compared = [version for version in definition.versions if version.served or version.storage]
    versions = sorted(compared, key=lambda version: kube_aware_key(version.name), reverse=True)
    schemas = {version.name: version.schema for version in versions}
    is_storage = {version.name: version.storage for version in versions}
    changes, added, harmed = [], {}, {}
    for old, new in permutations(schemas, 2):
        differences = compare_schemas(schemas[old], schemas[new])
        # what the storage version lacks, no write keeps
        if known is not None and not is_storage[new] and any(change.rule == "fieldRemoved" for change in differences):
            if old not in added:
                added[old] = _added_fields(known, schemas[old])
            differences = list(_with_new_fields(differences, old, new, added[old]))
        if known is not None and any(map(_is_stricter, differences)):
            if new not in harmed:
                harmed[new] = _harmed_fields(known, schemas[new])
            differences = list(_with_new_values(differences, old, new, harmed[new]))
        found = (grades.graded(change, definition.name, f"{old}{PAIR}{new}") for change in differences)
        changes += sorted(filter(_matters, found), key=_change_key)
    return changes


def _with_new_fields(differences: list[UngradedChange], old: str, new: str, added: Sequence[Collection[str]]) -> Iterator[UngradedChange]:
    """Yield the differences of two versions. An optional field is not removed that the release adds: no object has it."""
    required = {change.path for change in differences if change.rule == "requiredRemoved"}
    for change in differences:
        above = {change.path[:end] for end, char in enumerate(f"{change.path}.") if char in ".["}
        if change.rule == "fieldRemoved" and change.path not in required and all(above.intersection(fields) for fields in added):
            about = f"{old} has the field (new), {new} lacks it: writes there remove it"
            yield UngradedChange("newFieldMissing", about, change.path)
        else:
            yield change


def _added_fields(known: Definition, schema: Props | None) -> list[set[str]]:
    """Return the fields of a schema that each version of the former definition drops."""
    compared = (compare_schemas(version.schema, schema) for version in known.versions)
    return [{change.path for change in changes if change.rule == "fieldAdded"} for changes in compared]


def _with_new_values(differences: list[UngradedChange], old: str, new: str, harmed: Collection[str]) -> Iterator[UngradedChange]:
    """Yield the differences of two versions. A version is not stricter where no object of the former definition breaks it."""
    for change in differences:
        if _is_stricter(change) and not any(_is_near(path, change) for path in harmed):
            about = f"{old} allows more (new), {new} does not: writes there may be refused ({change.message})"
            yield UngradedChange("newValueRefused", about, change.path)
        else:
            yield change


def _is_near(path: str, change: UngradedChange) -> bool:
    """Report whether what is valid at a change may depend on a field: that a required one is there does not depend on what is below it."""
    return is_below(change.path, path) or (change.rule != "requiredAdded" and is_below(path, change.path))


def _is_stricter(change: UngradedChange) -> bool:
    """Report whether a change only concerns which values are valid. What is stored is not checked."""
    rule = RULES[change.rule]
    return rule.direction is Direction.NARROWED and rule.hurts is Hurts.WRITERS


def _harmed_fields(known: Definition, schema: Props | None) -> set[str]:
    """Return the fields at which a schema may refuse or alter objects of any version of the former definition."""
    compared = (compare_schemas(version.schema, schema) for version in known.versions)
    return {change.path for changes in compared for change in changes if RULES[change.rule].hurts is not Hurts.NOBODY}


def _matters(change: Change) -> bool:
    return change.hurts is not Hurts.NOBODY or change.grade in (Grade.WARNING, Grade.ERROR)
