"""Comparison of a version of two definitions: serving, deprecation, subresources, columns, selectable fields, schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from apiext.resources.definitions.definition import PrinterColumn, Version
from apiext.tools.comparison.change import UngradedChange
from apiext.tools.comparison.schema_comparison import compare_schemas
from apiext.tools.comparison.shown import shown

_REPLICAS_PATHS: Final = ("specReplicasPath", "statusReplicasPath")
_SELECTOR_PATH: Final = "labelSelectorPath"
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
