"""Which parts of the servers have times in the audit events of slow requests."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from apiext.base.meta.time import parse_duration
from hack.lib.differential.pair import Side, Step
from tests.differential.helpers.slow_pair import GROUP, REFUSED, WIDGETS, SlowPair, SlowRequest, Times, slow_pair
from tests.support.builders.crds import widget, widget_crd

pytestmark = pytest.mark.slow

_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
_PARTIAL: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_PARTIALS: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_JSON_PATCH: Final = "application/json-patch+json"
_APPLY: Final = "application/apply-patch+yaml"
_ELSEWHERE: Final = f"/apis/{GROUP}/v1/namespaces/kube-public/widgets"
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_NAMESPACES: Final = "/api/v1/namespaces"

_UNANSWERED: Final = frozenset({"total", "authentication", "authorization", "apf-queue-wait"})
_RAW: Final = _UNANSWERED | {"response-write"}
_FAILED: Final = _RAW | {"serialize-response-object"}
_CACHED: Final = _FAILED | {"transform-response-object"}
_STORED: Final = _CACHED | {"etcd"}
_MISSED: Final = _FAILED | {"etcd"}
_FORMLESS: Final = _RAW | {"etcd", "transform-response-object"}
_DECODED: Final = frozenset({"decode-response-object"})
_PERSONATED: Final = frozenset({"impersonation"})
_NONE: Final[frozenset[str]] = frozenset()
_OBJECTS: Final = ("read", "put", "same", "merge", "empty", "dry", "json", "applied", "gone", "gone-table", "finalized", "swept", "x", "y")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlowPair]:
    """Start both servers, with objects."""
    with slow_pair(tmp_path_factory.mktemp("slow")) as pair:
        for side in pair.sides:
            for name in _OBJECTS:
                metadata: dict[str, Any] = {"name": name}
                if name == "finalized":
                    metadata["finalizers"] = ["example.com/stay"]
                if name == "swept":
                    metadata["labels"] = {"swept": "yes"}
                _answer(side, "POST", WIDGETS, {**_widget(name), "metadata": metadata})
        yield pair


def _answer(side: Side, method: str, path: str, body: Any = None) -> Any:
    response, data = side.raw(Step(method, path, body))
    assert response.status < 300, data
    return json.loads(data)


def _widget(name: str, **more: Any) -> dict[str, Any]:
    return widget(name, group=GROUP, **more)


def _request(name: str, parts: frozenset[str], method: str, path: str, body: Any = None, **headers: str) -> SlowRequest:
    """Return a request; keywords are headers."""
    return SlowRequest(name, method, path, parts, body, {key.replace("_", "-"): text for key, text in headers.items()})


def _reads() -> list[SlowRequest]:
    first = f"{WIDGETS}/read"
    return [
        _request("get", _STORED, "GET", first),
        _request("get-cached", _CACHED, "GET", f"{first}?resourceVersion=0"),
        _request("get-missing", _MISSED, "GET", f"{WIDGETS}/none"),
        _request("get-missing-cached", _FAILED, "GET", f"{WIDGETS}/none?resourceVersion=0"),
        _request("get-table", _STORED, "GET", first, Accept=_TABLE),
        _request("get-partial", _STORED, "GET", first, Accept=_PARTIAL),
        _request("get-yaml", _STORED, "GET", first, Accept="application/yaml"),
        _request("get-status", _STORED, "GET", f"{first}/status"),
        _request("head", _STORED, "HEAD", first),
        _request("get-not-a-list", _FORMLESS, "GET", first, Accept=_PARTIALS),
        _request("list", _STORED, "GET", WIDGETS),
        _request("list-cached", _CACHED, "GET", f"{WIDGETS}?resourceVersion=0"),
        _request("list-everywhere", _STORED, "GET", f"/apis/{GROUP}/v1/widgets"),
        _request("list-page", _STORED, "GET", f"{WIDGETS}?limit=2"),
        _request("list-next-page", _CACHED, "GET", f"{WIDGETS}?limit=2&continue={{continue}}"),
        _request("list-exact", _CACHED, "GET", f"{WIDGETS}?resourceVersion={{revision}}&resourceVersionMatch=Exact"),
        _request("list-not-older", _CACHED, "GET", f"{WIDGETS}?resourceVersion={{revision}}"),
        _request("list-selected", _STORED, "GET", f"{WIDGETS}?labelSelector=none"),
        _request("list-one", _STORED, "GET", f"{WIDGETS}?fieldSelector=metadata.name%3Dread"),
        _request("list-table", _STORED, "GET", WIDGETS, Accept=_TABLE),
        _request("list-partial", _STORED, "GET", WIDGETS, Accept=_PARTIALS),
        _request("list-not-an-object", _FORMLESS, "GET", WIDGETS, Accept=_PARTIAL),
        _request("list-invalid", _FAILED, "GET", f"{WIDGETS}?resourceVersion=x"),
        _request("watch", _NONE, "GET", f"{WIDGETS}?watch=1&timeoutSeconds=1"),
        _request("watch-invalid", _NONE, "GET", f"{WIDGETS}?watch=1&resourceVersion=x"),
        _request("definition", _STORED, "GET", f"{_DEFINITIONS}/widgets.{GROUP}"),
        _request("namespace-protobuf", _STORED, "GET", f"{_NAMESPACES}/default", Accept=_PROTOBUF),
        _request("namespaces", _STORED, "GET", _NAMESPACES),
    ]


def _writes() -> list[SlowRequest]:
    return [
        _request("create", _CACHED, "POST", WIDGETS, _widget("created")),
        _request("create-table", _CACHED, "POST", WIDGETS, _widget("created-table"), Accept=_TABLE),
        _request("create-dry", _STORED, "POST", f"{WIDGETS}?dryRun=All", _widget("dry-created")),
        _request("create-again", _MISSED, "POST", WIDGETS, _widget("read")),
        _request("create-invalid", _FAILED, "POST", WIDGETS, _widget("invalid", replicas="x")),
        _request("create-nowhere", _FAILED, "POST", f"/apis/{GROUP}/v1/namespaces/none/widgets", _widget("lost")),
        _request("create-unreadable", _FAILED, "POST", WIDGETS, b"{"),
        _request("create-namespace", _CACHED, "POST", _NAMESPACES, {"metadata": {"name": "created"}}),
        _request("create-definition", _CACHED, "POST", _DEFINITIONS, widget_crd(group=f"other.{GROUP}")),
        _request("update", _CACHED, "PUT", f"{WIDGETS}/put", _widget("put", replicas=2)),
        _request("update-same", _STORED, "PUT", f"{WIDGETS}/same", _widget("same")),
        _request("update-missing", _MISSED, "PUT", f"{WIDGETS}/none", _widget("none")),
        _request("patch", _CACHED, "PATCH", f"{WIDGETS}/merge", b'{"spec":{"replicas":3}}'),
        _request("patch-nothing", _STORED, "PATCH", f"{WIDGETS}/empty", b"{}"),
        _request("patch-dry", _STORED, "PATCH", f"{WIDGETS}/dry?dryRun=All", b'{"spec":{"replicas":3}}'),
        _request("patch-missing", _MISSED, "PATCH", f"{WIDGETS}/none", b'{"a":1}'),
        _request(
            "patch-json", _STORED, "PATCH", f"{WIDGETS}/json", b'[{"op":"test","path":"/kind","value":"Widget"}]', Content_Type=_JSON_PATCH
        ),
        _request("apply-new", _STORED, "PATCH", f"{WIDGETS}/new?fieldManager=x", _applied("new"), Content_Type=_APPLY),
        _request("apply", _CACHED, "PATCH", f"{WIDGETS}/applied?fieldManager=x&force=true", _applied("applied"), Content_Type=_APPLY),
        _request("delete", _STORED, "DELETE", f"{WIDGETS}/gone"),
        _request("delete-table", _STORED, "DELETE", f"{WIDGETS}/gone-table", Accept=_TABLE),
        _request("delete-dry", _STORED, "DELETE", f"{WIDGETS}/read?dryRun=All"),
        _request("delete-missing", _MISSED, "DELETE", f"{WIDGETS}/none"),
        _request("delete-finalized", _STORED, "DELETE", f"{WIDGETS}/finalized"),
        _request("delete-collection", _STORED, "DELETE", f"{WIDGETS}?labelSelector=swept"),
        _request("delete-empty-collection", _STORED, "DELETE", f"{_ELSEWHERE}?labelSelector=swept"),
    ]


def _applied(name: str) -> bytes:
    return json.dumps(_widget(name, replicas=4)).encode()


def _other_requests() -> list[SlowRequest]:
    first, dave = f"{WIDGETS}/read", {"Impersonate_User": "dave"}
    return [
        _request("refused", _FAILED, "GET", f"{WIDGETS}/{REFUSED}"),
        _request("refused-path", _FAILED, "GET", f"/{REFUSED}"),
        _request("impersonated", _STORED | _PERSONATED, "GET", first, **dave),
        _request("impersonated-create", _CACHED | _PERSONATED, "POST", WIDGETS, _widget("created-as"), **dave),
        _request(
            "impersonation-refused",
            _FAILED - {"authorization", "apf-queue-wait"} | _PERSONATED,
            "GET",
            first,
            Impersonate_User=REFUSED,
        ),
        _request("version", _RAW | _PERSONATED, "GET", "/version", **dave),
        _request("openapi", _RAW | _PERSONATED, "GET", "/openapi/v3", **dave),
        _request("groups", _FAILED | _PERSONATED, "GET", "/apis", **dave),
        _request("resources", _FAILED | _PERSONATED, "GET", f"/apis/{GROUP}/v1", **dave),
        # its level is exempt from flow control
        _request("healthy", _RAW - {"apf-queue-wait"} | _PERSONATED, "GET", "/livez", **dave),
        _request("metrics", _RAW, "GET", "/metrics"),
        _request("nowhere", _RAW, "GET", "/nowhere"),
        _request("no-resource", _RAW, "GET", f"/apis/{GROUP}/v1/nothings"),
        _request("options", _FAILED, "OPTIONS", "/version"),
        _request("method", _FAILED, "POST", f"{first}/scale", _widget("x")),
        _request("media-type", _FAILED, "POST", WIDGETS, b"{}", Content_Type="text/plain"),
        _request("not-acceptable", _RAW, "GET", first, Accept="text/plain"),
    ]


def _resolved(side: Side, request: SlowRequest) -> SlowRequest:
    """Return the request with the revisions of a server."""
    page = _answer(side, "GET", f"{WIDGETS}?limit=2")["metadata"] if "{" in request.path else {}
    path = request.path.replace("{continue}", page.get("continue", "")).replace("{revision}", page.get("resourceVersion", ""))
    body = request.body
    if request.method == "PUT" and not request.path.endswith("/none"):
        # as it is stored, but for its spec
        body = {**_answer(side, "GET", path), "spec": body["spec"]}
    return replace(request, path=path, body=body)


def test_parts(servers: SlowPair) -> None:
    """Measure the same parts for every kind of request, and no part longer than the whole."""
    requests = [*_reads(), *_writes(), *_other_requests()]
    theirs, ours = servers.latencies([[_resolved(side, request) for request in requests] for side in servers.sides])

    _check(requests, theirs, ours)


def test_parts_without_watch_cache(tmp_path: Path) -> None:
    """Measure the decoding of lists too, if there is no watch cache."""
    with slow_pair(tmp_path, "--watch-cache=false") as servers:
        for side in servers.sides:
            for name in ("read", "gone", "swept"):
                _answer(side, "POST", WIDGETS, _widget(name))
        requests = [
            _request("get", _STORED, "GET", f"{WIDGETS}/read"),
            _request("get-cached", _STORED, "GET", f"{WIDGETS}/read?resourceVersion=0"),
            _request("list", _CACHED | _DECODED, "GET", WIDGETS),
            _request("list-cached", _CACHED | _DECODED, "GET", f"{WIDGETS}?resourceVersion=0"),
            _request("list-page", _CACHED | _DECODED, "GET", f"{WIDGETS}?limit=1"),
            _request("list-one", _STORED | _DECODED, "GET", f"{WIDGETS}?fieldSelector=metadata.name%3Dread"),
            _request("list-nothing", _CACHED, "GET", _ELSEWHERE),
            _request("create", _CACHED, "POST", WIDGETS, _widget("created")),
            _request("delete", _STORED, "DELETE", f"{WIDGETS}/gone"),
            _request("delete-collection", _STORED | _DECODED, "DELETE", f"{WIDGETS}?fieldSelector=metadata.name%3Dswept"),
            _request("delete-nothing", _CACHED, "DELETE", _ELSEWHERE),
            _request("update-missing", _MISSED, "PUT", f"{WIDGETS}/none", _widget("none")),
        ]
        theirs, ours = servers.latencies([requests, requests])

    _check(requests, theirs, ours)


def _check(requests: Sequence[SlowRequest], theirs: Times, ours: Times) -> None:
    wrong = [(request.name, theirs[request.name].keys() ^ request.parts, ours[request.name].keys() ^ request.parts) for request in requests]
    assert [found for found in wrong if any(found[1:])] == []
    for name, times in ours.items():
        seconds = {part: parse_duration(text) for part, text in times.items()}
        assert all(0 < taken <= seconds["total"] for taken in seconds.values()), (name, times)
