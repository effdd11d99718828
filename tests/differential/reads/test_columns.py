"""Tests of printer columns of every type, with every kind of path and value."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.cases.definition_cases import OPEN, PATH, crd, version
from tests.differential.helpers.differences import compared

pytestmark = pytest.mark.slow

GROUP: Final = "columns.example.com"
OBJECTS: Final = f"/apis/{GROUP}/v1/namespaces/default/things"
TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
TYPES: Final = ("string", "integer", "number", "boolean", "date")
FORMATS: Final = ("", "int32", "int64", "float", "double", "byte", "date", "date-time", "password")

VALUES: Final[tuple[Any, ...]] = (
    "text",
    "",
    "12",
    "true",
    "a\nb\tc\\d\u0001<&>\u2028",
    "\u2603",
    "x" * 300,
    0,
    -7,
    2**53 + 1,
    2**63 - 1,
    1.5,
    1.0,
    -0.0,
    1e21,
    1e-7,
    True,
    False,
    None,
    [],
    [1, "a", True, None, 1.5],
    ["a", "b"],
    [[1], [2]],
    {},
    {"a": 1, "b": "x", "c": [1, {"d": None}]},
    "2024-01-01T00:00:00Z",
    "2024-01-01T00:00:00.5+01:00",
    "2124-01-01T00:00:00Z",
    "2024-01-01",
    "0001-01-01T00:00:00Z",
)
"""Values at the path of a column."""

DATA: Final[dict[str, Any]] = {
    "s": "text",
    "i": 5,
    "l": [3, 1, 2],
    "texts": ["a", "b"],
    "m": {"k": "v", "k.d": "w", "a/b": "x", "-": "y", "0": "z"},
    "conditions": [
        {"type": "Ready", "status": "True", "n": 3, "ok": True, "t": "2024-01-01T00:00:00Z"},
        {"type": "Synced", "status": "False", "n": 5, "ok": False},
        {"type": "Ready", "status": "Unknown", "n": 7},
    ],
    "deep": {"er": {"x": 1, "y": [{"x": 2}, {"x": 3}]}},
}
PATHS: Final = (
    *(".spec.s", ".spec.i", ".spec.none", ".spec.none.deep", ".spec.s.deep", ".spec", ".spec.m", ".spec.l", "."),
    *(".spec.l[0]", ".spec.l[5]", ".spec.l[-1]", ".spec.l[-9]", ".spec.l[*]", ".spec.l[0:2]", ".spec.l[:1]", ".spec.l[1:]", ".spec.l[::2]"),
    *(".spec.l[-2:]", ".spec.l[0,2]", ".spec.texts[*]", ".spec.m[0]", ".spec.s[0]", ".spec.none[0]", ".spec.none[*]", ".spec.l[x]"),
    *(".spec.m.k", ".spec.m.k\\.d", ".spec.m['k']", ".spec.m['k.d']", ".spec.m.a/b", ".spec.m['a/b']", ".spec.m.-", ".spec.m.0"),
    *(".spec.m.*", ".spec.m['k','-']", ".spec['s','i']", '.spec.m["k"]', ".spec..x", "..x", ".spec.deep..x", ".spec.deep.er.y[*].x"),
    *(f".spec.conditions[?(@.type=={quoted})].status" for quoted in ("'Ready'", '"Ready"', "'None'", "Ready")),
    *(f".spec.conditions[?(@.n{sign}5)].type" for sign in ("==", "!=", "<", "<=", ">", ">=", "=", "=~")),
    *(
        ".spec.conditions[?(@.ok==true)].type",
        ".spec.conditions[?(@.ok)].type",
        ".spec.conditions[?(@.t)].t",
        ".spec.conditions[?(@.none)].n",
    ),
    *(".spec.conditions[*].type", ".spec.conditions[0].t", ".spec.conditions[*]", ".spec.conditions[?(@.type=='Ready')]"),
    *(
        ".metadata.name",
        ".metadata.namespace",
        ".metadata.creationTimestamp",
        ".metadata.labels",
        ".metadata.labels.a",
        ".metadata.generation",
    ),
    *(
        ".metadata.annotations.a\\.b/c",
        ".metadata.annotations['a.b/c']",
        ".kind",
        ".apiVersion",
        ".status",
        ".spec.l[",
        ".spec.l[]",
        ".spec.",
        ".{",
    ),
    *(
        ".spec.s}",
        ".spec.s}{.spec.i",
        ".spec.s} {.spec.i",
        ".range",
        ".spec.i + 1",
        ".spec[?(@.i==5)].s",
        ".spec.s\\",
        "..spec..",
        ".@",
        ".$",
    ),
)


MALFORMED: Final = (".spec.l[x]", '.spec.m["k"]', ".spec.conditions[?(@.n=~5)].type", ".spec.l[", ".{", ".spec.i + 1", ".spec.s\\")
"""Values for which no column can be rendered."""
_ALONE: Final = '"cells": ["a"]'


def columns(*made: dict[str, Any]) -> dict[str, Any]:
    """Return a definition with these columns."""
    return crd("things", version("v1", schema={"openAPIV3Schema": OPEN}, additionalPrinterColumns=list(made)), group=GROUP)


def thing(name: str, spec: Any) -> dict[str, Any]:
    """Return an object."""
    metadata = {"name": name, "labels": {"a": "b"}, "annotations": {"a.b/c": "d"}}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": metadata, "spec": spec}


def test_values(pair: Pair) -> None:
    """Render every value alike in a column of every type."""
    made = [
        {"name": f"{kind} {name}", "type": kind, "jsonPath": ".spec.x"} | ({"format": name} if name else {})
        for kind in TYPES
        for name in FORMATS
    ]
    with pair.served(columns(*made)):
        compared(pair, (Step("POST", OBJECTS, thing(f"v{index}", {"x": value}), TABLE) for index, value in enumerate(VALUES)))
        compared(pair, iter([Step("GET", OBJECTS, headers=TABLE), Step("GET", f"{OBJECTS}/v0", headers=TABLE)]))


def paths() -> Iterator[Step]:
    """Return steps that change the columns of one definition from path to path."""
    yield Step("POST", OBJECTS, thing("a", DATA))
    for number, path in enumerate(PATHS):
        made = [{"name": f"{kind} {number}", "type": kind, "jsonPath": path} for kind in TYPES]
        [changed] = columns(*made)["spec"]["versions"]
        yield Step("PATCH", f"{PATH}/things.{GROUP}", {"spec": {"versions": [changed]}})
        # A malformed path leaves only the name column.
        yield Step("GET", OBJECTS, headers=TABLE, retry=True, until=_ALONE if path in MALFORMED else f'"string {number}"')


def test_paths(pair: Pair) -> None:
    """Render every path alike in a column of every type; a malformed one leaves only the name column."""
    with pair.served(columns({"name": "start", "type": "string", "jsonPath": ".spec.s"})):
        compared(pair, paths())


@pytest.mark.parametrize(
    "path",
    [
        *("/api/v1/namespaces", "/api/v1/events", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
        *(f"/apis/flowcontrol.apiserver.k8s.io/v1/{name}" for name in ("flowschemas", "prioritylevelconfigurations")),
        "/apis/storagemigration.k8s.io/v1/storageversionmigrations",
    ],
)
def test_columns_of_builtin_kinds(pair: Pair, path: str) -> None:
    """Describe the columns of each built-in kind that is served by default with the reference's words."""
    answers = [side.raw(Step("GET", path, headers=TABLE)) for side in (pair.reference, pair.ours)]

    assert [response.status for response, _ in answers] == [200, 200]
    theirs, ours = (json.loads(data)["columnDefinitions"] for _, data in answers)
    assert ours == theirs
