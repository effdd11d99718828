"""Table columns and cells that several kinds share (kubernetes pkg/printers/internalversion)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from apiext.api.endpoints.responsewriters.human_duration import age
from apiext.api.endpoints.responsewriters.table import CREATED_DESCRIPTION, NAME, Cell, Column, TableConvertor
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.objectmeta.label_selector import selector_text

_SHOWN: Final = 3


def at(*path: str) -> Cell:
    """Return a cell function that prints one field, "" if it is missing."""

    def cell(obj: Object, _now: datetime) -> Any:
        value: Any = obj
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return "" if value is None else value

    return cell


def text(name: str, description: str, cell: Cell, *, priority: int = 0) -> Column:
    """Return a column of text."""
    return Column(name, "string", description=description, cell=cell, priority=priority)


def _created(obj: Object, now: datetime) -> Any:
    return age(obj["metadata"].get("creationTimestamp") or "", now)


AGE: Final = text("Age", CREATED_DESCRIPTION, _created)
"""The column of an object's age."""
PLAIN_TABLE: Final = TableConvertor(
    (NAME, Column("Created At", "date", description=CREATED_DESCRIPTION, cell=at("metadata", "creationTimestamp")))
)
"""The table of kinds without columns of their own."""


def find(obj: Any, path: str) -> Any:
    """Return the value at a path such as "spec.template", None if there is none."""
    for name in path.split("."):
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def or_else(path: str, missing: str) -> Cell:
    """Return a cell function that prints a field, `missing` if it is missing or empty."""

    def cell(obj: Object, _now: datetime) -> Any:
        found = find(obj, path)
        return missing if found is None or found == "" else found

    return cell


def field(name: str, path: str, description: str, *, missing: str = "", priority: int = 0) -> Column:
    """Return a column of text that prints a field."""
    cell = or_else(path, missing) if missing else at(*path.split("."))
    return text(name, description, cell, priority=priority)


def number(name: str, path: str, description: str) -> Column:
    """Return a column that prints a number, 0 if it is missing."""
    return Column(name, "integer", description=description, cell=lambda obj, _now: find(obj, path) or 0)


def flag(name: str, path: str, description: str) -> Column:
    """Return a column that prints a boolean, false if it is missing."""
    return Column(name, "boolean", description=description, cell=lambda obj, _now: bool(find(obj, path)))


def length(name: str, path: str, description: str) -> Column:
    """Return a column that prints the length of a list."""
    return Column(name, "integer", description=description, cell=lambda obj, _now: len(find(obj, path) or ()))


def ratio(part: str, whole: str) -> Cell:
    """Return a cell function that prints two numbers as 1/3."""
    return lambda obj, _now: f"{find(obj, part) or 0}/{find(obj, whole) or 0}"


def containers(path: str, *, priority: int = 1) -> tuple[Column, Column]:
    """Return the columns with names and images of the containers of the pod template at a path."""

    def joined(member: str) -> Cell:
        return lambda obj, _now: ",".join(each.get(member, "") for each in find(obj, f"{path}.spec.containers") or ())

    return (
        text("Containers", "Names of the template's containers.", joined("name"), priority=priority),
        text("Images", "Images of the template's containers.", joined("image"), priority=priority),
    )


def pod_template_columns(path: str, selector: str = "spec.selector") -> tuple[Column, ...]:
    """Return the columns about containers and selector."""

    def selected(obj: Object, _now: datetime) -> str:
        return selector_text(find(obj, selector)) or "<none>"

    return (*containers(path), text("Selector", "Labels of the selected pods.", selected, priority=1))


def labels_text(labels: Mapping[str, str] | None) -> str:
    """Return labels as text, <none> without labels."""
    return ",".join(f"{name}={value}" for name, value in sorted((labels or {}).items())) or "<none>"


def shortened(items: Sequence[str], *, most: int = _SHOWN, separator: str = ",") -> str:
    """Return the first items as text with the number of the others."""
    shown = separator.join(items[:most])
    return f"{shown} + {len(items) - most} more..." if len(items) > most else shown


def addresses(ingresses: Iterable[Object]) -> str:
    """Return the addresses of a load balancer."""
    return ",".join(sorted({found for each in ingresses if (found := each.get("ip") or each.get("hostname"))}))
