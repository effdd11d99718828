"""Tables and PartialObjectMetadata: the representations of objects that clients like kubectl request.

Mirrors apiextensions-apiserver pkg/registry/customresource/tableconvertor and apimachinery pkg/api/meta/table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

from apiext.api.endpoints.responsewriters.human_duration import age
from apiext.api.endpoints.responsewriters.response import PIECE_BYTES
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.jsonpath import paths as jsonpath
from apiext.base.meta.jsonpath.paths import Path
from apiext.base.meta.jsonpath.steps import EvalError, Meter, print_value
from apiext.base.meta.objectmeta.raw_metadata import metadata_json
from apiext.base.meta.steps import Steps, at_once
from apiext.base.scheduling.gradual_list import GradualListOfLarge
from apiext.base.scheduling.time_slice import Pace, in_slices
from apiext.storage.interface import Item

METADATA: Final = "Metadata"
NONE: Final = "None"
OBJECT: Final = "Object"
STEP_BYTES: Final = 16 * 1024
"""Bytes of objects to encode between two checks of the clock."""
_LARGE_BYTES: Final = 512
"""Average size from which items are not joined before the response is: copying them takes longer."""
_PATH_CHARACTERS: Final = 20
_MANY_CHARACTERS: Final = 2000
"""The work of a column besides that of the characters of its path, in such characters, and the work that takes more than a millisecond."""
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
"""Returns one cell of a row."""
Order = Callable[[Object], Any]
"""Returns a row's sort key."""


Value = Callable[[Object, Meter], Any]
"""Returns the value at a column's path, converted to its type; a date's timestamp, not its age. None if the meter is used up."""


def column_value(kind: str, path: Path) -> Value:
    """Return the function that finds the value of a column with a type and a path."""
    convert = _CONVERSIONS.get(kind, _none)

    def value(obj: Object, meter: Meter) -> Any:
        try:
            found = path(obj, meter)
        except EvalError:
            return None
        shown = convert(found[0]) if found else None
        return meter.show(shown) if isinstance(shown, str) else shown

    return value


def _none(_found: Any) -> Any:
    return None


def _string(value: Any) -> Any:
    return value if isinstance(value, str) else print_value(value)


def _integer(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Go's conversion of a float outside int64
    return int(value) if -(2**63) <= value < 2**63 else -(2**63)


def _number(value: Any) -> Any:
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def _boolean(value: Any) -> Any:
    return value if isinstance(value, bool) else None


def _date(value: Any) -> Any:
    """Return the timestamp at which an age begins."""
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


class Column(NamedTuple):
    """A column of a definition's additionalPrinterColumns, or a computed one of a built-in kind."""

    name: str
    type: str
    path: str = ""
    description: str = ""
    format: str = ""
    priority: int = 0
    cell: Cell | None = None
    """Computes the cell instead of the path."""
    value: Value | None = None
    """Computes the value instead of the path."""

    def header(self) -> dict[str, Any]:
        """Return the column definition for clients."""
        description = self.description or f"Custom resource definition column (in JSONPath format): {self.path}"
        return {"name": self.name, "type": self.type, "format": self.format, "description": description, "priority": self.priority}


NAME: Final = Column(
    "Name", "string", description=_NAME_DESCRIPTION, format="name", value=lambda obj, _meter: (obj.get("metadata") or {}).get("name", "")
)
"""The first column of custom resources."""
AGE: Final = Column("Age", "date", ".metadata.creationTimestamp", CREATED_DESCRIPTION)
"""The only column of a definition without additionalPrinterColumns."""


class _CompiledColumn(NamedTuple):
    """A column with its compiled function, None for one with a cell, and its definition for clients as JSON."""

    column: Column
    value: Value | None
    header: bytes


class AgeCache:
    """The time of a table and its ages by timestamp."""

    __slots__ = ("_ages", "now")

    def __init__(self, now: datetime) -> None:
        self.now = now
        self._ages: dict[str, bytes] = {}

    def age(self, time: str) -> bytes:
        """Return the age of a timestamp as JSON."""
        text = self._ages.get(time)
        if text is None:
            text = self._ages[time] = json_codec.dumps(age(time, self.now))
        return text


class CachedRow:
    """A row without its ages: the JSON around them, their timestamps, and the position of the metadata in the object's JSON.

    Only `owner`, the convertor that created it, may use it.
    """

    __slots__ = ("_fixed", "_metadata", "_times", "owner")

    def __init__(self, *, owner: object, fixed: tuple[bytes, ...], times: tuple[str, ...], metadata: slice) -> None:
        self.owner = owner
        self._fixed = fixed
        self._times = times
        self._metadata = metadata

    def row(self, data: bytes, include: str, head: bytes, ages: AgeCache) -> bytes:
        """Return the row as JSON. `data` is the object's JSON, `head` a PartialObjectMetadata's JSON up to its metadata."""
        fixed, times = self._fixed, self._times
        if len(times) == 1:
            # fast path: most tables have one date column and thousands of rows
            cells = fixed[0] + ages.age(times[0]) + fixed[1]
        else:
            cells = fixed[0] + b"".join([part for time, after in zip(times, fixed[1:], strict=True) for part in (ages.age(time), after)])
        if include == NONE:
            return cells + b"null}"
        if include == OBJECT:
            return b"%b%b}" % (cells, data)
        return b"%b%b%b}}" % (cells, head, data[self._metadata])


class TableConvertor:
    """Converts objects to rows. The paths of the columns are compiled on first use.

    A malformed path drops its column and all columns after it.
    """

    def __init__(self, columns: Sequence[Column], *, order: Order | None = None) -> None:
        """Create a convertor; `order` sorts the rows of lists."""
        self._columns = columns
        self._order = order
        self.is_large = sum(_PATH_CHARACTERS + len(column.path) for column in columns) > _MANY_CHARACTERS
        """Whether columns and rows take so long that they are made in slices."""

    async def ready(self, items: Iterable[Item] = ()) -> None:
        """Compile many or long columns, and make the cacheable parts of the items' rows, in slices; otherwise first use does this."""
        if not self.is_large:
            return
        if "_compiled" not in vars(self):
            self._compiled = await in_slices(self._compile())
        if self._is_cacheable:
            for item in items:
                if not (isinstance(item.row, CachedRow) and item.row.owner is self):
                    item.row = await in_slices(self._cacheable(item))

    @cached_property
    def _compiled(self) -> Sequence[_CompiledColumn]:
        """Return the columns with a well-formed path."""
        return at_once(self._compile())

    def _compile(self) -> Steps[Sequence[_CompiledColumn]]:
        compiled: list[_CompiledColumn] = GradualListOfLarge() if self.is_large else []
        for column in self._columns:
            value = column.value
            if value is None and column.cell is None:
                try:
                    path = yield from jsonpath.compile_steps(column.path)
                except jsonpath.PathError:
                    break
                value = column_value(column.type, path)
            compiled.append(_CompiledColumn(column, value, json_codec.dumps(column.header())))
            yield
        return compiled

    @cached_property
    def _is_cacheable(self) -> bool:
        return bool(self._compiled) and all(each.value is not None for each in self._compiled)

    def ordered(self, items: Iterable[Item]) -> Iterable[Item]:
        """Return the items of a list in the order of its rows."""
        order = self._order
        return items if order is None else sorted(items, key=lambda item: order(item.object()))

    @cached_property
    def headers(self) -> bytes:
        """Return the column definitions as JSON."""
        return b"[%b]" % b",".join([each.header for each in self._compiled])

    def row(self, obj: Object, now: datetime) -> list[Any]:
        """Return the cells of an object."""
        meter = Meter()
        return [_cell(each.column, each.value, obj, now, meter) for each in self._compiled]

    def cacheable_row(self, item: Item) -> CachedRow | None:
        """Return the cacheable part of an item's row, None if a column computes its cells."""
        return at_once(self._cacheable(item)) if self._is_cacheable else None

    def _cacheable(self, item: Item) -> Steps[CachedRow | None]:
        obj = item.object()
        metadata = json_codec.dumps(obj.get("metadata") or {})
        start = item.data.find(metadata)
        if start < 0:
            return None
        meter = Meter()
        fixed, times, between = [], [], [b'{"cells":[']
        for column, value, _ in self._compiled:
            found = None if value is None else value(obj, meter)
            if column.type == "date" and found is not None:
                fixed.append(b"".join(between))
                times.append(found)
                between = [b","]
            else:
                between += (json_codec.dumps(found), b",")
            if self.is_large:
                yield
        last = b"".join(between).removesuffix(b",") + b'],"object":'
        place = slice(start, start + len(metadata))
        return CachedRow(owner=self, fixed=(*fixed, last), times=tuple(times), metadata=place)


@dataclass(frozen=True, slots=True)
class TableForm:
    """The table options of a request."""

    version: str = "v1"
    include: str = METADATA
    """Object, Metadata or None."""


def table_head(form: TableForm, metadata: Mapping[str, Any], columns: bytes) -> bytes:
    """Return a table's JSON up to its rows."""
    return b'{"kind":"Table","apiVersion":"meta.k8s.io/%b","metadata":%b,"columnDefinitions":%b,"rows":[' % (
        form.version.encode(),
        json_codec.dumps(metadata),
        columns,
    )


TABLE_TAIL: Final = b"]}\n"


def row_bytes(convertor: TableConvertor, obj: Object, form: TableForm, now: datetime, data: bytes) -> bytes:
    """Return one row as JSON; `data` is the object's JSON."""
    cells = json_codec.dumps(convertor.row(obj, now))
    if form.include == NONE:
        shown = b"null"
    elif form.include == OBJECT:
        shown = data
    else:
        shown = partial_bytes(data, form.version)
    return b'{"cells":%b,"object":%b}' % (cells, shown)


async def rows(convertor: TableConvertor, items: Sequence[Item], form: TableForm, now: datetime) -> list[bytes]:
    """Return the encoded rows of items, in the form of `encode_items`."""
    ages, head, include = AgeCache(now), partial_head(form.version), form.include
    await convertor.ready(items)

    def encode(item: Item) -> bytes:
        row = item.row
        # fast path: nearly all rows of a table
        if isinstance(row, CachedRow) and row.owner is convertor:
            return row.row(item.data, include, head, ages)
        return item_row(convertor, item, form, ages)

    return await encode_items(convertor.ordered(items), encode)


async def encode_items(items: Iterable[Item], encode: Callable[[Item], bytes]) -> list[bytes]:
    """Encode items with commas between them, in parts of about PIECE_BYTES at most. Let other tasks run in between.

    All parts but the last end with a comma, unless items and commas are parts of their own.
    """
    parts: list[bytes] = []
    batch: list[bytes] = []
    pace: Pace | None = None
    size = work = 0
    for item in items:
        if work > STEP_BYTES:
            work = 0
            if pace is None:
                pace = Pace()
            if size > PIECE_BYTES or pace.due:
                # the empty item adds the comma before the next part
                parts.append(b",".join([*batch, b""]))
                batch.clear()
                size = 0
            if pace.due:
                await pace.pause()
        encoded = encode(item)
        batch.append(encoded)
        size += len(encoded)
        work += max(len(item.data), len(encoded))
    if not parts and size > _LARGE_BYTES * len(batch):
        return [part for encoded in batch for part in (encoded, b",")][:-1]
    parts.append(b",".join(batch))
    return parts


def item_row(convertor: TableConvertor, item: Item, form: TableForm, ages: AgeCache) -> bytes:
    """Return an item's row as JSON. The item keeps the cacheable part."""
    row = _cached_row(convertor, item)
    if row is None:
        return row_bytes(convertor, item.object(), form, ages.now, item.data)
    return row.row(item.data, form.include, partial_head(form.version), ages)


def item_metadata(item: Item) -> dict[str, str]:
    """Return the metadata of a table that shows one item."""
    return {"resourceVersion": str(item.revision) if item.revision else ""}


def _cached_row(convertor: TableConvertor, item: Item) -> CachedRow | None:
    """Return the cached row of an item, created at first use; None if it cannot be cached."""
    row = item.row
    if isinstance(row, CachedRow) and row.owner is convertor:
        return row
    item.row = made = convertor.cacheable_row(item)
    return made


# --- PartialObjectMetadata ------------------------------------------------------------------------------------------


def partial_bytes(data: bytes, version: str) -> bytes:
    """Return the PartialObjectMetadata of an object as JSON; `data` is the object's JSON."""
    return b"%b%b}" % (partial_head(version), metadata_json(data))


@lru_cache(maxsize=4)
def partial_head(version: str) -> bytes:
    """Return a PartialObjectMetadata's JSON up to its metadata."""
    return b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/%b","metadata":' % version.encode()


def partial_list_head(version: str, metadata: dict[str, Any]) -> bytes:
    """Return a PartialObjectMetadataList's JSON up to its items."""
    return b'{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/%b","metadata":%b,"items":[' % (
        version.encode(),
        json_codec.dumps(metadata),
    )


def _cell(column: Column, value: Value | None, obj: Object, now: datetime, meter: Meter) -> Any:
    if value is None:
        return column.cell(obj, now) if column.cell is not None else None
    found = value(obj, meter)
    return age(found, now) if column.type == "date" and found is not None else found
