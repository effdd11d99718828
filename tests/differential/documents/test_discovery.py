"""Tests of discovery: content, media types, ETags and methods."""

import hashlib
import json
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import pytest

from apiext.api.discovery import protobuf_messages
from apiext.resources.registry.protobuf import kinds
from hack.lib.differential.pair import Pair, Side, Step
from tests.differential.helpers.documents import (
    PROTOBUF,
    assert_equal_eventually,
    by_name,
    definitions,
    differing,
    parsed,
    until_both,
)
from tests.support.builders.crds import crd
from tests.support.servers.in_process import CRDS

pytestmark = pytest.mark.slow

GROUP: Final = "discovery.example.com"
ROOT: Final = f"/apis/{GROUP}"
PARAMS: Final = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
AGGREGATED: Final = f"application/json{PARAMS}"
VERSIONS: Final = ("v1", "v11", "v1beta1", "v1alpha1", "v2alpha1", "v3beta2", "v12alpha10", "foo")
GROUPS: Final = (
    *("apiextensions.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "coordination.k8s.io", "events.k8s.io"),
    *("rbac.authorization.k8s.io", "storagemigration.k8s.io"),
)
OWN: Final = frozenset({GROUP, *GROUPS})
CORE: Final = frozenset({"configmaps", "events", "namespaces", "secrets", "serviceaccounts"})
BUILTIN: Final = tuple(f"/apis/{group}/v1" for group in GROUPS)
PATHS: Final = (
    *(f"{path}{slash}" for path in ("/api", "/apis", "/api/v1", ROOT, f"{ROOT}/v11", *BUILTIN) for slash in ("", "/")),
    "/apis/apiextensions.k8s.io",
    "/apis/rbac.authorization.k8s.io",
    "/apis/storagemigration.k8s.io",
    "/apis/storagemigration.k8s.io/v1beta1",
    f"{ROOT}/v10",
    f"{ROOT}/none",
    "/apis/none",
    "/apis/none/v1",
    "/api/v2",
)
ACCEPTED: Final = (
    "",
    PROTOBUF,
    f"{PROTOBUF};stream=watch",
    f"{PROTOBUF},application/json",
    f"{PROTOBUF}{PARAMS}",
    f"application/yaml{PARAMS}",
    AGGREGATED,
    f"{AGGREGATED};profile=nopeer",
    f"application/*{PARAMS}",
    f"*/*{PARAMS}",
    AGGREGATED.replace("v2", "v2beta1"),
    f"{AGGREGATED.replace('v2', 'v2beta1')},application/json",
    "application/json;as=APIGroupDiscoveryList",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=Table;g=meta.k8s.io;v=v1,application/json",
    "application/yaml",
    "application/*",
    "*/*",
    "*",
    "text/html",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "application/json;q=0.1,application/yaml;q=0.5",
    "application/json;q=0",
    "application/json;q=x, application/yaml;q=0.1",
    "application/json; q = 1",
    "application/json;sv=v1",
    "application/json;sv=",
    "application/json;stream=watch",
    "application/json;stream=other",
    "application/json;pretty=1",
    "application/json; charset=utf-8",
    "APPLICATION/JSON",
    "application",
    "application/json/x",
    "json",
    ",",
    ";",
    ", application/json",
    "application/cbor",
    "application/cbor, application/json",
    "application/cbor-seq",
)


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Create all definitions on both servers, and wait until both list every version."""
    with pair.served(*definitions(GROUP)):
        until_both(pair, lambda side: all(side.raw(Step("GET", f"{ROOT}/{version}"))[0].status == 200 for version in VERSIONS))
        until_both(pair, lambda side: {group["name"] for group in parsed(side, "/apis")["groups"]} >= OWN)
        yield pair


@pytest.mark.parametrize("media_type", ["application/json", "application/yaml"])
@pytest.mark.parametrize("path", [ROOT, *(f"{ROOT}/{version}" for version in VERSIONS), *BUILTIN])
def test_documents(served: Pair, path: str, media_type: str) -> None:
    """Return equal groups and versions in equal order, with equal resources in equal order."""

    def take(side: Side) -> str:
        document = parsed(side, path, media_type)
        if "resources" in document:
            document["resources"] = by_name(document["resources"])
        return json.dumps(document)

    assert_equal_eventually(served, take)


def test_groups(served: Pair) -> None:
    """Return the groups of both servers in equal order."""
    assert_equal_eventually(served, lambda side: json.dumps([one for one in parsed(side, "/apis")["groups"] if one["name"] in OWN]))


def test_core(served: Pair) -> None:
    """Return equal resources of the core group as far as both servers have them, and an equal /api."""

    def take(side: Side) -> tuple[Any, ...]:
        versions = parsed(side, "/api")
        (address,) = versions.pop("serverAddressByClientCIDRs")
        listed = [one for one in parsed(side, "/api/v1")["resources"] if one["name"].partition("/")[0] in CORE]
        return versions, address["clientCIDR"], address["serverAddress"] == side.url.partition("//")[2], json.dumps(listed)

    assert_equal_eventually(served, take)


def _own_items(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the items of an aggregated document that both servers have."""
    items = [item for item in document["items"] if item["metadata"].get("name", "") in OWN | {""}]
    for item in (item for item in items if not item["metadata"].get("name")):
        for version in item["versions"]:
            version["resources"] = [one for one in version["resources"] if one["resource"] in CORE]
    return items


@pytest.mark.parametrize("media_type", ["application/json", "application/yaml"])
@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_aggregated(served: Pair, path: str, media_type: str) -> None:
    """Return equal aggregated documents for the groups of both servers."""
    assert_equal_eventually(served, lambda side: json.dumps(_own_items(parsed(side, path, f"{media_type}{PARAMS}"))))


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_etags(served: Pair, path: str) -> None:
    """Compute the reference's hash as ETag of an aggregated document, and answer 304 to that ETag only."""
    for side in (served.reference, served.ours):
        response, data = side.raw(Step("GET", path, headers={"Accept": AGGREGATED}))
        document, etag = json.loads(data), response.headers["ETag"]
        content = json.dumps({name: document[name] for name in ("metadata", "items")}, separators=(",", ":"))
        assert etag == f'"{hashlib.sha512(content.encode()).hexdigest().upper()}"'
        codes = {}
        for known in (etag, f"W/{etag}", f'"x", {etag}', "*", etag.strip('"')):
            headers = {"Accept": f"{PROTOBUF}{PARAMS}", "If-None-Match": known}
            response, _ = side.raw(Step("GET", path, headers=headers))
            codes[known] = response.status
            assert response.headers["ETag"] == etag
        assert list(codes.values()) == [304, 200, 200, 200, 200]


_LISTS: Final = ("/api", "/api/v1", "/apis", ROOT, f"{ROOT}/v11", f"{ROOT}/v1", *BUILTIN)


def _in_both_forms(side: Side, path: str, params: str) -> tuple[bytes, bytes]:
    """Return a document in Protobuf, and apiext's encoding of its JSON form."""
    response, data = side.raw(Step("GET", path, headers={"Accept": PROTOBUF + params}))
    assert (response.status, response.headers["Content-Type"]) == (200, PROTOBUF + params)
    return data, protobuf_messages.dumps(parsed(side, path, f"application/json{params}"))


def _agree(side: Side, path: str, params: str) -> bool:
    return len(set(_in_both_forms(side, path, params))) == 1


@pytest.mark.parametrize("path,params", [*((path, "") for path in _LISTS), ("/api", PARAMS), ("/apis", PARAMS)])
def test_protobuf(served: Pair, path: str, params: str) -> None:
    """Encode the reference's JSON to the reference's Protobuf bytes, and serve apiext's own documents so."""
    until_both(served, partial(_agree, path=path, params=params))
    for side in (served.reference, served.ours):
        data, _ = _in_both_forms(side, path, params)
        kind = parsed(side, path, f"application/json{params}")["kind"]
        assert kinds.read(data, protobuf_messages.MESSAGES[kind])["kind"] == kind


def _shape(side: Side, step: Step) -> tuple[Any, ...]:
    """Return code, headers and, for an error, the body."""
    response, data = side.raw(step)
    headers = [response.headers[name] for name in ("Content-Type", "Vary", "Cache-Control", "Allow", "X-Content-Type-Options")]
    return response.status, headers, data if response.status >= 400 else data[:1]


@pytest.mark.parametrize("path", PATHS)
def test_accept(served: Pair, path: str) -> None:
    """Negotiate and refuse media types of every document alike."""
    steps = {accept: Step("GET", path, headers={"Accept": accept} if accept else {}) for accept in ACCEPTED}

    assert differing(served, {accept: partial(_shape, step=step) for accept, step in steps.items()}) == {}


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE"])
def test_methods(served: Pair, method: str) -> None:
    """Answer every method at documents of custom groups, and refuse them at those of built-in types."""
    assert differing(served, {path: partial(_shape, step=Step(method, path)) for path in PATHS}) == {}


@pytest.mark.parametrize("agent", ["curl/8.0", "Wget/1.2", "Mozilla/5.0 (X11)", "kubectl/v1.37.1"])
@pytest.mark.parametrize("query", ["", "?pretty=true", "?pretty=0", "?pretty", "?pretty=yes"])
def test_pretty(served: Pair, agent: str, query: str) -> None:
    """Indent JSON alike for the same clients."""

    def take(side: Side) -> bytes:
        return side.raw(Step("GET", f"{ROOT}/v11{query}", headers={"User-Agent": agent}))[1]

    assert_equal_eventually(served, take)


def _listed(side: Side) -> Any:
    """Return the names and verbs of all resources of the group from plain and aggregated discovery."""
    items = [item for item in parsed(side, "/apis", AGGREGATED)["items"] if item["metadata"]["name"] == NAMED]
    response, data = side.raw(Step("GET", f"/apis/{NAMED}/v1"))
    if response.status != 200:
        return items, response.status
    hashes = [one | {"storageVersionHash": bool(one.get("storageVersionHash"))} for one in by_name(json.loads(data)["resources"])]
    return items, hashes


NAMED: Final = "named.discovery.example.com"


def _named(plural: str, kind: str, **names: Any) -> dict[str, Any]:
    return crd(plural, group=NAMED, scope="Cluster", names={"plural": plural, "kind": kind, **names})


def _summary(side: Side) -> dict[str, tuple[list[str], list[str], bool]]:
    """Return short names and categories of each resource, and whether it has the verb create."""
    items = [item for item in parsed(side, "/apis", AGGREGATED)["items"] if item["metadata"]["name"] == NAMED]
    listed = [resource for item in items for version in item["versions"] for resource in version["resources"]]
    return {one["resource"]: (one.get("shortNames", []), one.get("categories", []), "create" in one["verbs"]) for one in listed}


def _done(side: Side, step: Step, codes: frozenset[int] = frozenset({200, 201})) -> bool:
    return side.raw(step)[0].status in codes


def _comes_about(side: Side, expected: Any) -> bool:
    return bool(_summary(side) == expected)


def test_conflicts_and_deletion(pair: Pair) -> None:
    """List no names that conflict and no versions that are not served; list a deleting definition without create."""
    first, second = f"{CRDS}/ones.{NAMED}", f"{CRDS}/twos.{NAMED}"
    held = {"apiVersion": f"{NAMED}/v1", "kind": "One", "metadata": {"name": "x", "finalizers": ["example.com/held"]}}
    merge = {"Content-Type": "application/merge-patch+json"}
    unserved = [{**_named("twos", "Two")["spec"]["versions"][0], "served": False}]
    ones: dict[str, Any] = {"ones": (["o"], ["all"], True)}
    steps: tuple[tuple[Step, dict[str, Any]], ...] = (
        (Step("POST", CRDS, _named("ones", "One", shortNames=["o"], categories=["all"])), ones),
        (Step("POST", CRDS, _named("twos", "Two", shortNames=["o", "t"])), ones),
        (Step("PATCH", second, {"spec": {"names": {"shortNames": ["t"]}}}, merge), ones | {"twos": (["t"], [], True)}),
        (
            Step("PATCH", second, {"spec": {"names": {"shortNames": ["t", "o"], "categories": ["c"]}}}, merge),
            ones | {"twos": (["t"], ["c"], True)},
        ),
        (Step("PATCH", second, {"spec": {"versions": unserved}}, merge), ones),
        (Step("POST", f"/apis/{NAMED}/v1/ones", held), ones),
        (Step("DELETE", first), {"ones": (["o"], ["all"], False)}),
        (Step("PATCH", f"/apis/{NAMED}/v1/ones/x", {"metadata": {"finalizers": None}}, merge), {}),
        (Step("DELETE", second), {}),
    )
    try:
        for step, expected in steps:
            until_both(pair, partial(_done, step=step))
            until_both(pair, partial(_comes_about, expected=expected))
            assert_equal_eventually(pair, _listed, step)
    finally:
        pair.remove_definitions(NAMED)
