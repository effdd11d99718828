"""Tables: paths, cells, ages, rows."""

from datetime import UTC, datetime
from typing import Any

import pytest

from apiext.api.endpoints.responsewriters import table
from apiext.api.endpoints.responsewriters.human_duration import age, human_duration
from apiext.api.endpoints.responsewriters.table import (
    AGE,
    NAME,
    AgeCache,
    Column,
    TableConvertor,
    TableForm,
    item_row,
    row_bytes,
    rows,
    table_head,
)
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.jsonpath.paths import PathError, compile_path
from apiext.base.meta.jsonpath.steps import EvalError, Meter
from apiext.base.scheduling import time_slice
from apiext.storage.interface import Item
from tests.support.event_loop import turns_of

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
OBJECT: dict[str, Any] = {
    "metadata": {"name": "a", "creationTimestamp": "2026-01-01T11:58:30Z", "annotations": {"a.b/c": "x"}},
    "spec": {
        "list": [{"t": "A", "v": 1}, {"t": "B", "v": 2}],
        "text": "q",
        "none": None,
        "big": 1e21,
        "float": 1.5,
        "flag": True,
        "deep": {"x": {"x": 1}},
    },
}


@pytest.mark.parametrize(
    "path, values",
    [
        (".spec.text", ["q"]),
        ("$.spec.text", ["q"]),
        (".metadata.annotations['a\\.b/c']", ["x"]),
        (".metadata.annotations.a\\.b/c", ["x"]),
        (".spec.list[0].v", [1]),
        (".spec.list[-1].v", [2]),
        (".spec.list[*].t", ["A", "B"]),
        (".spec.list[0:2].t", ["A", "B"]),
        (".spec.list[0:2:2].t", ["A"]),
        (".spec.list[1:].t", ["B"]),
        (".spec.list[0,1].t", ["A", "B"]),
        ("..v", [1, 2]),
        (".spec['text','float']", ["q", 1.5]),
        ('.spec.list[?(@.t=="B")].v', [2]),
        (".spec.list[?(@.t!='B')].v", [1]),
        (".spec.list[?(@.v>=2)].t", ["B"]),
        (".spec.list[?(@.v<2)].t", ["A"]),
        (".spec.list[?(@.t)].t", ["A", "B"]),
        (".spec.list[?(@.nope)].t", []),
        (".spec.deep.*.x", [1]),
        (".nope.x", []),
        (".spec.text.x", []),
    ],
)
def test_selects_values(path: str, values: list[Any]) -> None:
    """Select the reference's values; ignore missing keys."""
    assert compile_path(path)(OBJECT, Meter()) == values


@pytest.mark.parametrize(
    "path", [".spec.list[5]", "spec", ".spec.text[0]", ".spec.list[?(@.t==1)]", ".spec.text[?(@.x)]", ".spec.list[0:2:0]"]
)
def test_ignores_values_that_do_not_fit(path: str) -> None:
    """Return an empty cell for a value that does not fit the path."""
    with pytest.raises(EvalError):
        compile_path(path)(OBJECT, Meter())

    assert TableConvertor([Column("X", "string", path)]).row(OBJECT, NOW) == [None]


def test_a_brace_ends_a_path() -> None:
    """Ignore text after the closing brace of a template."""
    assert compile_path(".spec.text}")(OBJECT, Meter()) == ["q"]
    assert compile_path(".spec.text} and {.spec.big")(OBJECT, Meter()) == ["q"]


@pytest.mark.parametrize(
    "path",
    [
        ".spec" + "['deep','deep']" * 40,
        ".spec.deep" + "['x','x']" * 40,
        ".list" + "...*" * 60,
        ".list[?(@['x','x']['x','x'])]" + "['x','x']" * 40,
    ],
)
def test_a_cell_with_too_many_values_is_empty(path: str) -> None:
    """Stop the evaluation of a path that multiplies its values: the cell is empty, the others are shown."""
    nested: dict[str, Any] = {}
    for _ in range(60):
        nested = {"x": nested, "deep": nested}
    obj = {"spec": nested, "list": [nested]}

    assert TableConvertor([Column("A", "string", path), Column("B", "string", ".list[0].nope")]).row(obj, NOW) == [None, None]


def test_many_long_cells_are_empty() -> None:
    """Stop where the cells of a row are long together, however many columns show a large value."""
    obj = {"spec": {"text": "x" * 1_000_000, "list": list(range(60_000))}}
    texts = TableConvertor([Column("X", "string", ".spec.text")] * 2_000).row(obj, NOW)
    numbers = TableConvertor([Column("X", "integer", ".spec.list[*]")] * 2_000).row(obj, NOW)

    assert texts == [obj["spec"]["text"]] * 3 + [None] * 1_997
    assert numbers == [0] + [None] * 1_999


def test_drops_columns_with_too_long_paths() -> None:
    """Treat a path with too many steps as malformed."""
    with pytest.raises(PathError, match="more than 10000 steps"):
        compile_path(".a" * 10_001)


@pytest.mark.parametrize("path", ["[", ".a[x]", ".a[?(@.x", ".a[?(@.x)", "....a", ".a\\", '"x', "#", ".a[1"])
def test_drops_malformed_columns(path: str) -> None:
    """Drop a column with a malformed path and all columns after it."""
    with pytest.raises(PathError):
        compile_path(path)

    convertor = TableConvertor([NAME, Column("X", "string", path), AGE])
    assert [header["name"] for header in json_codec.loads(convertor.headers)] == ["Name"]


@pytest.mark.parametrize(
    "type, path, cell",
    [
        ("string", ".spec.text", "q"),
        ("string", ".spec.list[0]", '{"t":"A","v":1}'),
        ("string", ".spec.flag", "true"),
        ("string", ".spec.big", "1e+21"),
        ("string", ".spec.none", "<no value>"),
        ("integer", ".spec.float", 1),
        ("integer", ".spec.big", -(2**63)),
        ("integer", ".spec.text", None),
        ("integer", ".spec.flag", None),
        ("number", ".spec.list[0].v", 1.0),
        ("number", ".spec.text", None),
        ("boolean", ".spec.flag", True),
        ("boolean", ".spec.text", None),
        ("date", ".metadata.creationTimestamp", "90s"),
        ("date", ".spec.text", "<invalid>"),
        ("date", ".spec.flag", None),
        ("other", ".spec.text", None),
        ("string", ".nope", None),
    ],
)
def test_converts_cells(type: str, path: str, cell: Any) -> None:
    """Convert a cell to its column's type, or leave it empty."""
    assert TableConvertor([Column("X", type, path)]).row(OBJECT, NOW) == [cell]


@pytest.mark.parametrize(
    "seconds, text",
    [
        (-3, "<invalid>"),
        (-1.5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (599, "9m59s"),
        (3600, "60m"),
        (3 * 3600, "3h"),
        (7 * 3600 + 1800, "7h30m"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (49 * 3600, "2d1h"),
        (8 * 86400, "8d"),
        (729 * 86400, "729d"),
        (730 * 86400, "2y"),
        (800 * 86400, "2y70d"),
        (8 * 365 * 86400, "8y"),
    ],
)
def test_prints_durations(seconds: float, text: str) -> None:
    """Print two or three figures of a duration, like kubectl's ages."""
    assert human_duration(seconds) == text


def test_prints_ages() -> None:
    """Print the age of any RFC 3339 timestamp, and `<unknown>` without one."""
    assert age("2026-01-01T12:58:30+01:00", NOW) == "90s"
    assert age("", NOW) == "<unknown>"
    assert age("0001-01-01T01:00:00+01:00", NOW) == "<unknown>"


async def test_encodes_rows() -> None:
    """Encode rows with the object in the requested form."""
    convertor = TableConvertor([NAME, AGE])
    data = json_codec.dumps(OBJECT)
    item = Item(key="a", revision=1, data=data, labels={}, fields={})

    parts = await rows(convertor, [item] * 150, TableForm(include="None"), NOW)

    table = json_codec.loads(table_head(TableForm(), {"resourceVersion": "1"}, convertor.headers) + b"".join(parts) + b"]}")
    assert len(table["rows"]) == 150
    assert table["rows"][0]["object"] is None
    assert json_codec.loads(row_bytes(convertor, OBJECT, TableForm(include="Object"), NOW, data))["object"] == OBJECT
    assert json_codec.loads(row_bytes(convertor, OBJECT, TableForm("v1beta1"), NOW, data)) == {
        "cells": ["a", "90s"],
        "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1beta1", "metadata": OBJECT["metadata"]},
    }


async def test_pauses_between_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let other tasks run while many rows are encoded."""
    monkeypatch.setattr(time_slice, "SLICE_SECONDS", 0)
    monkeypatch.setattr(time_slice, "SHARED_SLICE_SECONDS", 0)
    monkeypatch.setattr(table, "STEP_BYTES", 0)
    item = Item(key="a", revision=1, data=json_codec.dumps(OBJECT), labels={}, fields={})

    made: list[bytes] = []

    async def encode() -> None:
        made.extend(await rows(TableConvertor([NAME, AGE]), [item] * 150, TableForm(), NOW))

    assert await turns_of(encode()) >= 100
    assert len(json_codec.loads(b"[%b]" % b"".join(made))) == 150


@pytest.mark.parametrize("column", ["name", ".spec.list[*].t", ".metadata.creationTimestamp", "..v", ".spec['text','float']"])
async def test_large_tables_are_made_in_slices(column: str) -> None:
    """Make the same headers and rows of very many columns in slices as at first use, and only once for an item."""
    kind = "date" if "Timestamp" in column else "string"
    columns = [NAME, *(Column(f"C{number}", kind, column) for number in range(3_000))]
    sliced, at_once = TableConvertor(columns), TableConvertor(columns)
    items = [Item(key="a", revision=1, data=json_codec.dumps(OBJECT), labels={}, fields={}) for _ in range(3)]

    assert await turns_of(sliced.ready(items)) > 3
    assert [item.row.owner for item in items] == [sliced] * 3
    assert await turns_of(sliced.ready(items)) <= 1
    assert sliced.headers == at_once.headers
    other = [Item(key="a", revision=1, data=json_codec.dumps(OBJECT), labels={}, fields={}) for _ in range(3)]
    assert b"".join(await rows(sliced, items, TableForm(), NOW)) == b"".join(await rows(at_once, other, TableForm(), NOW))
    assert json_codec.loads(b"[%b]" % item_row(sliced, items[0], TableForm(), AgeCache(NOW)))[0]["cells"] == at_once.row(OBJECT, NOW)


async def test_long_paths_are_compiled_in_slices() -> None:
    """Compile a path of very many steps in slices, and drop a malformed one as at first use."""
    long = TableConvertor([NAME, *[Column("L", "string", ".spec" + ".deep" * 9_000)] * 5, Column("X", "string", ".a" * 10_001), AGE])

    assert await turns_of(long.ready()) > 3

    assert [header["name"] for header in json_codec.loads(long.headers)] == ["Name", *["L"] * 5]


@pytest.mark.parametrize("columns", [[NAME, AGE], [NAME, *[Column("C", "string", '.status.conditions[?(@.type=="Ready")].status')] * 12]])
async def test_small_tables_are_made_at_first_use(columns: list[Column]) -> None:
    """Prepare nothing for ordinary columns."""
    convertor = TableConvertor(columns)
    item = Item(key="a", revision=1, data=json_codec.dumps(OBJECT), labels={}, fields={})

    await convertor.ready([item])

    assert item.row is None
