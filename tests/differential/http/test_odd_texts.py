"""Tests of odd characters in selectors, metadata, options and definitions: errors must show them as the reference does."""

import copy
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.cases.hostile_values import CRD, DRY, GROUP, MERGE, ONE, PATH
from tests.support.servers.in_process import CRDS

pytestmark = pytest.mark.slow

TEXTS: Final = (
    *("a\0", "a\x7f", "\x9f", "\n\t\a\b", "\u2028", "\u00a0", "\u00ad", "\u200b", "\ufeff", "\ufffd", "\ud800", "é", "\U0001f600"),
    *("\ue000", "\U000e0001", "\U0010ffff", 'q"x', "\\", "<>&", "'", "a b"),
)
SELECTORS: Final = ("a in (1,2)", "a=1", "!b", "a", "a==1,b!=x", "a notin (,)", "a,b/*", "a>0", "a in ()")
_MANAGER: Final = {"manager": "m", "operation": "Update", "apiVersion": f"{GROUP}/v1", "fieldsType": "FieldsV1", "fieldsV1": {}}
_OWNER: Final = {"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u"}
_VERSION: Final = ("spec", "versions", 0)
_TEXT: Final = (*_VERSION, "schema", "openAPIV3Schema", "properties", "spec", "properties", "s")
_PLACES: Final[tuple[tuple[str | int, ...], ...]] = (
    *(("spec", "scope"), ("spec", "group"), ("spec", "names", "kind"), ("spec", "names", "plural"), ("spec", "conversion", "strategy")),
    *((*_VERSION, name) for name in ("name", "deprecationWarning")),
    *((*_TEXT, name) for name in ("type", "format", "pattern", "default", "x-kubernetes-list-type", "x-kubernetes-map-type")),
)


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Serve custom resources on both servers, with one object."""
    with pair.served(CRD):
        assert pair.differences(Step("POST", PATH, _thing({"name": "a", "labels": {"a": "1"}}))) == []
        yield pair


def _thing(metadata: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "n", **metadata}}


def _metadata(text: str) -> Iterator[dict[str, Any]]:
    for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"):
        yield {name: text}
    for member in ("labels", "annotations"):
        yield from ({member: {text: "x"}}, {member: {f"{text}/a": "x"}}, {member: {"x": text}})
    yield {"finalizers": [text, f"{text}/a", f"x/{text}"]}
    yield from ({"ownerReferences": [_OWNER | {name: text}] * 2} for name in _OWNER)
    yield from ({"managedFields": [_MANAGER | {name: text}]} for name in (*_MANAGER, "subresource", "time") if name != "fieldsV1")
    yield {"managedFields": [_MANAGER | {"fieldsV1": {text: {}}}]}


def _object_steps(text: str) -> Iterator[Step]:
    for metadata in _metadata(text):
        yield Step("POST", PATH + DRY, _thing(metadata))
        yield Step("PUT", ONE + DRY, _thing({"name": "a", **metadata}))
        # A message that quotes the whole object, as those about times in patches, cannot be masked.
        if metadata.keys().isdisjoint({"creationTimestamp", "deletionTimestamp", "managedFields"}):
            yield Step("PATCH", ONE + DRY, {"metadata": metadata}, MERGE)
    for spec in ({"n": text}, {"b": text}, {"l": [text]}, {text: text}):
        yield Step("POST", f"{PATH}{DRY}&fieldValidation=Strict", {**_thing({}), "spec": spec})
    for options in ({"propagationPolicy": text}, {"dryRun": [text]}, {"preconditions": {"uid": text}}):
        yield Step("DELETE", f"{PATH}{DRY}", {"orphanDependents": True, **options})


def _query_steps(text: str) -> Iterator[Step]:
    # A query that is not UTF-8 is no text here.
    value = quote(text)
    for name in ("resourceVersionMatch", "limit", "labelSelector", "fieldSelector", "resourceVersion"):
        yield Step("GET", f"{PATH}?{name}={value}")
    for name in ("propagationPolicy", "dryRun", "gracePeriodSeconds"):
        yield Step("DELETE", f"{PATH}/x?{name}={value}&orphanDependents=true")
    for name in ("dryRun", "fieldValidation", "fieldManager"):
        yield Step("POST", f"{PATH}{DRY}&{name}={value}", _thing({}))


def _definition_steps(text: str) -> Iterator[Step]:
    for path in _PLACES:
        definition = copy.deepcopy(CRD)
        definition["spec"]["conversion"] = {"strategy": "None"}
        place: Any = definition
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = text
        yield Step("POST", CRDS + DRY, definition)


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_odd_texts(served: Pair, text: str) -> None:
    """Show an odd text alike in every error."""
    steps = [*_object_steps(text), *_definition_steps(text), *(() if text == "\ud800" else _query_steps(text))]
    found = [difference for step in steps for difference in served.differences(step)]

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)


@pytest.mark.parametrize("selector", SELECTORS)
def test_nul_in_selectors(served: Pair, selector: str) -> None:
    """Read a NUL at every place of a label selector alike."""
    found = []
    for at in range(len(selector) + 1):
        for nul in ("\0", "\0\0", " \0", "\0 "):
            step = Step("GET", f"{PATH}?labelSelector={quote(selector[:at] + nul + selector[at:])}")
            found += served.differences(step)

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)
