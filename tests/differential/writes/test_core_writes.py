"""Tests of namespaces and events as far as apiext serves them, and of deprecation warnings on every verb."""

import http.client
import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Side, Step
from tests.differential.helpers.differences import compared
from tests.differential.helpers.write_steps import (
    DOMAIN,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    THINGS,
    crds,
    current,
    operations,
    scale,
    thing,
)

pytestmark = pytest.mark.slow

SPACES: Final = "/api/v1/namespaces"
SPACE: Final = f"{SPACES}/write-one"
EVENTS: Final = "/api/v1/namespaces/default/events"
VERSIONS: Final = ("v1", "v1beta1", "v1alpha1")
TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
PATCHES: Final[tuple[Any, ...]] = (
    {"metadata": {"labels": {"a": "b", "kubernetes.io/metadata.name": "other"}}},
    {"metadata": {"labels": None}},
    {"metadata": {"labels": {"A B": "c d"}, "annotations": {"e f": "x"}}},
    {"metadata": {"finalizers": ["a.b/c"]}},
    {"metadata": {"finalizers": ["no-domain", "A B"]}},
    {"metadata": {"finalizers": None, "generateName": "x-"}},
    {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "", "uid": "u"}]}},
    {"metadata": {"uid": "x"}},
    {"metadata": {"resourceVersion": "1"}},
    {"metadata": {"name": "other"}},
    {"metadata": {"namespace": "other"}},
    {"metadata": {"generation": 4, "creationTimestamp": "2001-01-01T00:00:00Z", "deletionTimestamp": "2001-01-01T00:00:00Z"}},
    {"metadata": {"deletionGracePeriodSeconds": 4}},
    {"metadata": 1},
    {"spec": {"finalizers": ["a.b/c"]}},
    {"spec": {"finalizers": None}},
    {"spec": {"finalizers": "x"}},
    {"spec": 1},
    {"status": {"phase": "Terminating"}},
    {"status": {"phase": None}},
    {"status": {"conditions": [{"type": "a", "status": "True"}]}},
    {"kind": "Other"},
    {"apiVersion": "v2"},
    {"kind": None},
    {"apiVersion": None},
    {"kind": None, "apiVersion": None},
    {},
)


def _space(metadata: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "write-one"} | (metadata or {})} | members


def _event(name: str, /, metadata: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    body = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name} | (metadata or {})}
    return body | {"involvedObject": {"kind": "Thing", "namespace": "default", "name": "a"}} | members


def _namespaces() -> list[Step]:
    dry = "?dryRun=All"
    names = ("", "A", "a.b", "a_b", "x" * 63, "x" * 64, "-a", "a-", "0", "default")
    return [
        *(Step("POST", SPACES + dry, _space({"name": name})) for name in names),
        *(Step("POST", SPACES + dry, _space({"name": "write-two"} | one["metadata"])) for one in PATCHES[:13] if "metadata" in one),
        Step("POST", SPACES + dry, _space(spec={"finalizers": ["x", "a.b/c", "kubernetes"]}, status={"phase": "Terminating"})),
        Step("POST", SPACES, _space({"labels": {"a": "b"}}, spec={"finalizers": ["a.b/c"]}, status={"phase": "Other"})),
        Step("POST", SPACES, _space()),
        Step("PUT", SPACE, _space()),
        Step("PUT", SPACE, _space(current(SPACE) | {"labels": {"c": "d"}}, spec={"finalizers": []}, status={"phase": "x"})),
        Step("PUT", SPACE, _space({"resourceVersion": "1"})),
        Step("PUT", SPACE, _space({"uid": "x"})),
        Step("PUT", SPACE + dry, _space({"uid": "x"})),
        Step("PUT", SPACE, _space({"name": "other"})),
        Step("PUT", f"{SPACES}/write-none", _space({"name": "write-none"})),
        *(Step("PATCH", SPACE + tail + dry, one, MERGE) for tail in ("", "/status") for one in PATCHES),
        *(Step("PATCH", SPACE + dry, one, STRATEGIC) for one in PATCHES if one not in UNCONVERTED),
        Step("PATCH", SPACE + dry, operations(("add", "/spec/finalizers/-", "a.b/d"), ("test", "/kind", "Namespace")), JSON_PATCH),
        Step("PATCH", SPACE + dry, operations(("test", "/kind", "Pod")), JSON_PATCH),
        Step("PATCH", f"{SPACES}/write-none", {}, MERGE),
        Step("PUT", f"{SPACE}/status", _space(current(SPACE) | {"labels": {"e": "f"}}, status={"phase": "Active"})),
        Step("PUT", f"{SPACE}/status", _space(status={})),
        Step("PUT", f"{SPACE}/finalize", _space({"labels": {"g": "h"}}, spec={"finalizers": ["a.b/c", "kubernetes"]})),
        Step("PUT", f"{SPACE}/finalize", _space(spec={"finalizers": ["A B", "x"]})),
        Step("PUT", f"{SPACE}/finalize", _space({"resourceVersion": "1"})),
        Step("PUT", f"{SPACE}/finalize", _space({"name": "other"})),
        Step("PATCH", f"{SPACE}/finalize", {}, MERGE),
        Step("GET", f"{SPACE}/finalize"),
        Step("GET", SPACE),
        Step("GET", SPACE, headers=TABLE),
    ]


UNCONVERTED: Final[tuple[Any, ...]] = ({"metadata": 1}, {"spec": 1}, {"spec": {"finalizers": "x"}})
"""Strategic merge patches with type errors that the reference words differently."""


def _deleted_namespace() -> list[Step]:
    return [
        Step("DELETE", f"{SPACE}?dryRun=All"),
        Step("DELETE", SPACE, {"preconditions": {"uid": "x"}}),
        Step("GET", SPACE),
    ]


def _events() -> list[Step]:
    one, dry = f"{EVENTS}/write-a", "?dryRun=All"
    odd: tuple[dict[str, Any], ...] = (
        {"involvedObject": {"namespace": "other"}},
        {"involvedObject": {}},
        {"involvedObject": None},
        {"involvedObject": 1},
        {"eventTime": "2020-01-01T00:00:00.000000Z"},
        {"eventTime": "2020-01-01T00:00:00Z"},
        {
            "eventTime": "2020-01-01T00:00:00.000000Z",
            "reportingComponent": "A B",
            "action": "a" * 129,
            "reason": "r",
            "message": "m" * 1025,
        },
        {"reason": "r", "type": "Odd", "count": 3, "firstTimestamp": "2020-01-01T00:00:00Z", "source": {"component": "c"}},
        {"count": "3"},
        {"count": 2**40},
        {"series": {"count": 1, "lastObservedTime": "2020-01-01T00:00:00.000000Z"}},
        {"firstTimestamp": "x"},
    )
    return [
        *(Step("POST", EVENTS + dry, _event("write-b", **members)) for members in odd),
        *(Step("POST", EVENTS + dry, _event(name)) for name in ("", "A", "a.b", "a/b", "..", "x" * 254, "a%b")),
        Step("POST", EVENTS + dry, _event("write-b", {"labels": {"A B": "c d"}, "finalizers": ["x y"]})),
        Step("POST", "/api/v1/namespaces/none/events", _event("write-b", involvedObject={"namespace": "none"})),
        Step("POST", EVENTS, _event("write-a", {"finalizers": ["a.b/c"]}, message="one")),
        Step("POST", EVENTS, _event("write-a")),
        Step("PUT", one, _event("write-a", message="two")),
        Step("PUT", one, _event("write-a", current(one), message="two")),
        Step("PUT", one, _event("write-a", {"resourceVersion": "1"}, message="two")),
        Step("PUT", one, _event("write-a", {"uid": "x"})),
        Step("PUT", f"{EVENTS}/write-new{dry}", _event("write-new")),
        Step("PUT", f"{EVENTS}/write-new", _event("write-new", message="made")),
        Step("PATCH", one, {"count": 2, "message": "three"}, STRATEGIC),
        Step("PATCH", one, {"count": 2, "message": None}, MERGE),
        Step("PATCH", one, {"involvedObject": {"namespace": "other"}}, MERGE),
        Step("PATCH", one, {"metadata": {"labels": {"A B": ""}}}, MERGE),
        Step("PATCH", one, {"apiVersion": None}, MERGE),
        Step("PATCH", f"{one}?fieldValidation=Ignore", {"apiVersion": None}, MERGE),
        Step("PATCH", one, operations(("replace", "/count", 5), ("test", "/count", 5)), JSON_PATCH),
        Step("PATCH", f"{EVENTS}/write-none", {}, MERGE),
        Step("GET", one),
        Step("DELETE", f"{one}{dry}"),
        Step("DELETE", one),
        Step("PATCH", one, {"metadata": {"finalizers": None}}, MERGE),
        Step("DELETE", f"{EVENTS}/write-new"),
        Step("GET", one),
    ]


def _deprecated(version: str) -> list[Step]:
    base = THINGS.replace("/v1/", f"/{version}/")
    one, everywhere = f"{base}/d", f"/apis/{DOMAIN}/{version}/things"
    return [
        Step("POST", base, thing("d", {"finalizers": ["x"]}, version, spec={"replicas": 1})),
        Step("POST", base, thing("d", None, version)),
        Step("POST", base, b"{"),
        *(Step("GET", path, headers=accept) for path in (one, base, everywhere) for accept in ({}, TABLE)),
        Step("GET", f"{base}/none"),
        Step("GET", f"{base}?limit=x"),
        Step("PUT", one, thing("d", current(one) | {"finalizers": ["x", "y"]}, version, spec={"replicas": 2})),
        Step("PUT", one, thing("d", {"resourceVersion": "1"}, version)),
        Step("PATCH", one, {"spec": {"size": 1}}, MERGE),
        Step("PATCH", one, {"spec": {"size": "x"}}, MERGE),
        *(Step("GET", f"{one}/{tail}") for tail in ("status", "scale", "nothing")),
        Step("PUT", f"{one}/status", thing("d", current(one), version, status={"phase": "x"})),
        Step("PUT", f"{one}/scale", scale("d", spec={"replicas": 3})),
        Step("PATCH", f"{one}/scale", {"spec": {"replicas": 4}}, MERGE),
        Step("POST", one, {}),
        Step("OPTIONS", one),
        Step("HEAD", one),
        Step("DELETE", f"{one}?dryRun=All"),
        Step("DELETE", one),
        Step("PATCH", one, {"metadata": {"finalizers": None}}, MERGE),
        Step("DELETE", base),
    ]


SEQUENCES: Final[dict[str, list[Step]]] = {
    "namespaces": _namespaces() + _deleted_namespace(),
    "events": _events(),
    **{f"deprecated {version}": _deprecated(version) for version in VERSIONS},
}


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Create the definitions on both servers; delete the namespace after the test."""
    with pair.served(*crds()):
        yield pair
    for side in (pair.reference, pair.ours):
        side.raw(Step("DELETE", SPACE))
        side.raw(Step("PUT", f"{SPACE}/finalize", _space()))


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(served: Pair, name: str) -> None:
    """Return equal codes, headers and bodies for the sequence."""
    compared(served, SEQUENCES[name])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("query", ["watch=true&timeoutSeconds=1", "watch=true&resourceVersion=x", "watch=true&resourceVersion=1&limit=x"])
def test_watches_warn(served: Pair, version: str, query: str) -> None:
    """Send the deprecation warning with a watch and with its refusal."""
    path = THINGS.replace("/v1/", f"/{version}/") + f"?{query}"

    theirs, ours = served.at_once(lambda side: _begun(side, path))

    assert ours == theirs


def _begun(side: Side, path: str) -> tuple[int, list[str]]:
    response, data = side.raw(Step("GET", path))
    assert response.status == http.client.OK or json.loads(data)["kind"] == "Status"
    return response.status, response.headers.get_all("Warning") or []
