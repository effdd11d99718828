"""Objects as a Table: the columns of a definition, one row an object.

Mirrors apiextensions-apiserver pkg/registry/customresource/tableconvertor and apimachinery pkg/api/meta/table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from apiext.endpoints.responsewriters.human_duration import age
from apiext.endpoints.responsewriters.jsonpath import EvalError, PathError, Step, compile_path, print_value
from apiext.endpoints.responsewriters.partial_metadata import partial_bytes
from apiext.endpoints.responsewriters.table_rows import METADATA, NOTHING, OBJECT, KeptRow, Moment, Shown
from apiext.meta import json_codec
from apiext.meta.json_codec import Object
from apiext.storage.interface import Item

_SLICE: Final = 200
"""Rows that are made before others get the loop."""
_NAME_DESCRIPTION: Final = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a "
    "client to request the generation of an appropriate name automatically. Name is primarily intended for creation "
    "idempotence and configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
CREATED_DESCRIPTION: Final = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to "
    "be set in happens-before order across separate operations. Clients may not set this value. It is represented in "
    "RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)

Cell = Callable[[Object, datetime], Any]
"""One cell of a row."""
Value = Callable[[Object], Any]
"""What a column's path finds, as its type wants it; for a date the time itself, not its age."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column as a definition's additionalPrinterColumns give it, or one that a built-in kind computes."""

    name: str
    type: str
    path: str = ""
    description: str = ""
    format: str = ""
    priority: int = 0
    cell: Cell | None = None
    """Makes the cell, instead of the path."""
    value: Value | None = None
    """Finds what the cell shows, instead of the path."""

    def header(self) -> dict[str, Any]:
        """The column definition that clients get."""
        description = self.description or f"Custom resource definition column (in JSONPath format): {self.path}"
        return _header(self.name, self.type, self.format, description, self.priority)


NAME: Final = Column(
    "Name", "string", description=_NAME_DESCRIPTION, format="name", value=lambda obj: (obj.get("metadata") or {}).get("name", "")
)
"""The first column of custom resources."""
AGE: Final = Column("Age", "date", ".metadata.creationTimestamp", CREATED_DESCRIPTION)
"""The column of a definition that names none."""


def _header(name: str, type: str, format: str, description: str, priority: int = 0) -> dict[str, Any]:
    return {"name": name, "type": type, "format": format, "description": description, "priority": priority}


class TableConvertor:
    """Makes tables; the paths of its columns are compiled when it is first used.

    A column with a malformed path ends the columns before it.
    """

    __slots__ = ("_cells", "_columns", "_headers", "_values")

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._cells: tuple[Cell, ...] | None = None
        self._values: tuple[Value, ...] = ()
        self._headers = b""

    def cells(self) -> tuple[Cell, ...]:
        """The functions that make a row's cells."""
        if self._cells is None:
            cells: list[Cell] = []
            values: list[Value] = []
            for column in self._columns:
                if column.cell is not None:
                    cells.append(column.cell)
                    continue
                try:
                    values.append(column.value or _value(column.type, compile_path(column.path)))
                except PathError:
                    break
                cells.append(_cell(column.type, values[-1]))
            self._cells = tuple(cells)
            self._headers = json_codec.dumps([column.header() for column in self._columns[: len(cells)]])
            self._values = tuple(values) if len(values) == len(cells) else ()
        return self._cells

    def headers(self) -> bytes:
        """The column definitions as JSON."""
        self.cells()
        return self._headers

    def row(self, obj: Object, now: datetime) -> list[Any]:
        """The cells of an object."""
        return [cell(obj, now) for cell in self.cells()]

    def keep(self, item: Item) -> KeptRow | None:
        """What can be kept of an item's row; None where a column computes its cells in a way of its own."""
        self.cells()
        obj = item.object()
        metadata = json_codec.dumps(obj.get("metadata") or {})
        start = item.data.find(metadata)
        if not self._values or start < 0:
            return None
        fixed, times, between = [], [], b""
        for column, value in zip(self._columns, self._values, strict=False):
            found = value(obj)
            if column.type == "date" and found is not None:
                fixed.append(between)
                times.append(found)
                between = b","
            else:
                between += json_codec.dumps(found) + b","
        place = slice(start, start + len(metadata))
        return KeptRow(owner=self, fixed=(*fixed, between[:-1]), times=tuple(times), metadata=place)


@dataclass(frozen=True, slots=True)
class TableForm:
    """How a client wants its tables."""

    version: str = "v1"
    include: str = METADATA
    """Object, Metadata or None."""


def table_head(form: TableForm, metadata: Mapping[str, Any], columns: bytes) -> bytes:
    """A table up to its rows."""
    return b'{"kind":"Table","apiVersion":"meta.k8s.io/%b","metadata":%b,"columnDefinitions":%b,"rows":[' % (
        form.version.encode(),
        json_codec.dumps(metadata),
        columns,
    )


TABLE_TAIL: Final = b"]}\n"


def row_bytes(convertor: TableConvertor, obj: Object, form: TableForm, now: datetime, data: bytes = b"") -> bytes:
    """One row as JSON; `data` is the object as JSON, where it is at hand."""
    cells = json_codec.dumps(convertor.row(obj, now))
    if form.include == NOTHING:
        shown = b"null"
    elif form.include == OBJECT:
        shown = data or json_codec.dumps(obj)
    else:
        shown = partial_bytes(obj, form.version)
    return b'{"cells":%b,"object":%b}' % (cells, shown)


async def rows(convertor: TableConvertor, items: Iterable[Item], form: TableForm) -> list[bytes]:
    """The rows of items, with commas between them, in a few pieces; gives others the loop now and then."""
    moment, shown = Moment(datetime.now(UTC)), Shown(form.include, form.version)
    pieces: list[bytes] = []
    batch: list[bytes] = []
    for item in items:
        if len(batch) == _SLICE:
            pieces += (b",".join(batch), b",")
            batch.clear()
            await asyncio.sleep(0)
        row = _kept(convertor, item)
        if row is None:
            batch.append(row_bytes(convertor, item.object(), form, moment.now, item.data))
        else:
            batch.append(row.row(item.data, shown, moment))
    pieces.append(b",".join(batch))
    return pieces


def _kept(convertor: TableConvertor, item: Item) -> KeptRow | None:
    """What an item keeps of its row in this convertor's tables; made when it is first asked for."""
    row = item.row
    if isinstance(row, KeptRow) and row.owner is convertor:
        return row
    item.row = made = convertor.keep(item)
    return made


# --- cells ----------------------------------------------------------------------------------------------------------


def _value(type: str, step: Step) -> Value:
    convert = _CONVERSIONS.get(type, _none)

    def value(obj: Object) -> Any:
        try:
            found = step([obj])
        except EvalError:
            return None
        return convert(found[0]) if found else None

    return value


def _cell(type: str, value: Value) -> Cell:
    if type != "date":
        return lambda obj, _now: value(obj)

    def cell(obj: Object, now: datetime) -> Any:
        since = value(obj)
        return None if since is None else age(since, now)

    return cell


def _none(_found: Any) -> Any:
    return None


def _string(value: Any) -> Any:
    return value if isinstance(value, str) else print_value(value)


def _integer(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Go's conversion of a float that no int64 can hold
    return int(value) if -(2**63) <= value < 2**63 else -(2**63)


def _number(value: Any) -> Any:
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def _boolean(value: Any) -> Any:
    return value if isinstance(value, bool) else None


def _date(value: Any) -> Any:
    """The time that an age counts from."""
    if not isinstance(value, str):
        return None
    return "" if value == "null" else value


_CONVERSIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
