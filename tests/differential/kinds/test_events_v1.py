"""Tests of events.k8s.io/v1 Events against the reference: one object in two forms."""

from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import compared
from tests.differential.helpers.kind_steps import TABLE, creations, life, metadata_steps
from tests.differential.helpers.write_steps import MERGE, STRATEGIC, applied, current

pytestmark = pytest.mark.slow

COLLECTION: Final = "/apis/events.k8s.io/v1/namespaces/default/events"
CORE: Final = "/api/v1/namespaces/default/events"
EVENT: Final[dict[str, Any]] = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "kept"},
    "eventTime": "2020-01-01T00:00:00.000001Z",
    "reportingController": "example.com/c",
    "reportingInstance": "c-1",
    "action": "Act",
    "reason": "Because",
    "type": "Normal",
    "note": "something happened",
    "regarding": {"kind": "Thing", "namespace": "default", "name": "a"},
}
_LATER: Final = "2020-01-01T00:00:01.000000Z"
MEMBERS: Final[tuple[dict[str, Any], ...]] = (
    {"eventTime": None},
    {"type": "Odd"},
    {"type": None},
    {"deprecatedCount": 1},
    {"deprecatedFirstTimestamp": "2020-01-01T00:00:00Z", "deprecatedLastTimestamp": "2020-01-01T00:00:00Z"},
    {"deprecatedSource": {"component": "c"}},
    {"deprecatedSource": {"host": "h"}},
    {"reportingController": "", "reportingInstance": "", "action": "", "reason": ""},
    {"reportingController": "A B", "reportingInstance": "x" * 129, "action": "x" * 129, "reason": "x" * 129, "note": "x" * 1025},
    {"regarding": {"namespace": "other"}},
    {"regarding": {}},
    {"related": {"kind": "Other", "name": "b"}},
    {"series": {"count": 1}},
    {"series": {"count": 2, "lastObservedTime": _LATER}},
    {"note": "other"},
    {"eventTime": _LATER},
)
MALFORMED: Final[tuple[dict[str, Any], ...]] = (
    {"series": {"count": "2"}},
    {"eventTime": "yesterday"},
    {"regarding": 1},
    {"message": "core"},
    {"involvedObject": {"name": "core"}},
)
_OLD: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "shared"},
    "involvedObject": {"kind": "Thing", "namespace": "default", "name": "a"},
    "reason": "Old",
    "message": "m",
    "count": 3,
    "source": {"component": "c", "host": "h"},
    "firstTimestamp": "2020-01-01T00:00:00Z",
    "lastTimestamp": "2020-01-02T00:00:00Z",
    "type": "Warning",
}
_SHARED: Final = f"{COLLECTION}/shared"
SELECTORS: Final = (
    *(f"{name}%3D{value}" for name, value in (("regarding.kind", "Thing"), ("regarding.name", "a"), ("regarding.uid", "x"))),
    *(f"{name}%3D{value}" for name, value in (("reportingController", "example.com/c"), ("reason", "Because"), ("type", "Odd"))),
    *(f"{name}%3Dx" for name in ("involvedObject.kind", "source", "reportingComponent", "note", "metadata.uid")),
)
SEQUENCES: Final[dict[str, list[Step]]] = {
    "events": [
        *metadata_steps(COLLECTION, EVENT),
        *creations(COLLECTION, EVENT, [*MEMBERS, *MALFORMED]),
        *life(COLLECTION, EVENT, MEMBERS, SELECTORS),
    ],
    "two forms": [
        Step("POST", CORE, _OLD),
        Step("GET", _SHARED),
        Step("GET", _SHARED, headers=TABLE),
        Step("GET", f"{COLLECTION}?fieldSelector=reason%3DOld"),
        Step("PUT", _SHARED, EVENT | {"metadata": {"name": "shared"} | current(_SHARED)}),
        Step("PATCH", f"{_SHARED}?fieldManager=new", {"metadata": {"labels": {"a": "b"}}}, MERGE),
        Step("PATCH", f"{_SHARED}?fieldManager=new", {"series": {"count": 2, "lastObservedTime": _LATER}}, STRATEGIC),
        Step("PATCH", f"{_SHARED}?fieldManager=new", {"note": "changed"}, STRATEGIC),
        Step("GET", f"{CORE}/shared"),
        Step("PATCH", f"{CORE}/shared?fieldManager=old", {"message": "n"}, MERGE),
        Step("GET", _SHARED),
        applied(_SHARED, {**EVENT, "metadata": {"name": "shared"}}, "fieldManager=applier&force=true"),
        applied(
            _SHARED,
            {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "shared", "labels": {"c": "d"}}},
            "fieldManager=applier&force=true",
        ),
        Step("GET", f"{CORE}/shared"),
        Step("DELETE", _SHARED),
        Step("GET", f"{CORE}/shared"),
        Step("GET", f"{COLLECTION}/none"),
        Step("POST", "/apis/events.k8s.io/v1/namespaces/none/events", EVENT | {"regarding": {"namespace": "none"}}),
    ],
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(pair: Pair, name: str) -> None:
    """Return equal codes, headers and bodies for the sequence."""
    compared(pair, SEQUENCES[name])
