"""API Priority and Fairness of both servers: the bootstrap objects, and the classification of requests by ten users."""

import http.client
import json
import re
import ssl
from collections.abc import Iterator
from itertools import product
from typing import Any, Final

import pytest
import yaml

from apiext.api.flowcontrol.configuration.bootstrap import (
    MANDATORY_FLOW_SCHEMAS,
    MANDATORY_PRIORITY_LEVELS,
    SUGGESTED_FLOW_SCHEMAS,
    SUGGESTED_PRIORITY_LEVELS,
)
from apiext.api.flowcontrol.configuration.configuration import BOOTSTRAP
from apiext.base.meta.builtin_resources import FLOW_SCHEMAS, PRIORITY_LEVEL_CONFIGURATIONS
from apiext.base.meta.generated.go_types import struct_of
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.kinds import message_of
from hack.lib.differential.pair import Pair, Side, Step
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.tls_connection import client_context
from tests.differential.helpers.wire import Raw, request, send

pytestmark = pytest.mark.slow

BASE: Final = "/apis/flowcontrol.apiserver.k8s.io/v1"
TOKENS: Final = """\
root,root,1,"system:masters"
ann,ann,2,"dev,ops"
bob,bob,3
node,system:node:n1,4,"system:nodes"
admin-node,system:node:n2,5,"system:nodes,system:masters"
manager,system:kube-controller-manager,6
scheduler,system:kube-scheduler,7
agent,system:serviceaccount:default:agent,8,"system:serviceaccounts,system:serviceaccounts:default"
collector,system:serviceaccount:kube-system:gc,9,"system:serviceaccounts,system:serviceaccounts:kube-system"
"""
USERS: Final = ("", *(line.partition(",")[0] for line in TOKENS.splitlines()))
_WIDGETS: Final = "/apis/none.example.com/v1/namespaces/default/widgets"
_LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
REQUESTS: Final = (
    *(("GET", path) for path in ("/healthz", "/readyz", "/livez/ping", "/healthzz", "/version", "/apis", "/none")),
    *(("GET", path) for path in ("/api/v1/namespaces", "/api/v1/namespaces/kube-system", "/api/v1/nodes/n", _WIDGETS, _LEASES)),
    ("HEAD", "/readyz"),
    ("POST", "/healthz"),
    ("PATCH", "/api/v1/nodes/n/status"),
    ("GET", f"{_LEASES}/a"),
    ("PUT", f"{_LEASES}/a"),
    ("PATCH", f"{_LEASES}/a"),
    ("GET", "/api/v1/namespaces?watch=1&resourceVersion=x"),
    ("GET", "/api/v1/namespaces/default/pods/p/log"),
)
SCHEMA, LEVEL = "X-Kubernetes-PF-FlowSchema-UID", "X-Kubernetes-PF-PriorityLevel-UID"
_SAMPLE: Final = re.compile(r"^(apiserver_flowcontrol_\w+|apiserver_current_in\w+)\{(.*)\} ", re.MULTILINE)
Classified = tuple[str | None, str | None]


def _objects(side: Side, plural: str) -> dict[str, Any]:
    """Return name, annotations and spec of all objects of a resource."""
    items = json.loads(side.raw(Step("GET", f"{BASE}/{plural}"))[1])["items"]
    return {one["metadata"]["name"]: (one["metadata"]["annotations"], one["spec"]) for one in items}


@pytest.mark.parametrize(
    "plural, objects",
    [
        ("flowschemas", MANDATORY_FLOW_SCHEMAS + SUGGESTED_FLOW_SCHEMAS),
        ("prioritylevelconfigurations", MANDATORY_PRIORITY_LEVELS + SUGGESTED_PRIORITY_LEVELS),
    ],
)
def test_bootstrap_objects(pair: Pair, plural: str, objects: tuple[dict[str, Any], ...]) -> None:
    """Have the mandatory and suggested objects of the reference."""
    ours = {one["metadata"]["name"]: (one["metadata"]["annotations"], one["spec"]) for one in objects}

    assert ours == _objects(pair.reference, plural)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Pair, tuple[ssl.SSLContext, ssl.SSLContext]]]:
    """Start both servers with the same ten users, one of them anonymous."""
    folder = tmp_path_factory.mktemp("flows")
    tokens = folder / "tokens.csv"
    tokens.write_text(TOKENS)
    flags = (f"--token-auth-file={tokens}",)
    with ControlPlane(folder / "reference", durable=False, extra_args=flags) as plane, BareServer(folder, extra_args=flags) as server:
        both = Pair(plane, server)
        yield both, (client_context(plane.ca), server.ssl_context(credentials=False))
        both.close()


def _classified(side: Side, raw: Raw, context: ssl.SSLContext, names: dict[str, str]) -> Classified:
    """Return the names of the FlowSchema and the priority level that the response to a request names by their uids."""
    with send(side, raw.data, context) as connection:
        response = http.client.HTTPResponse(connection, method=raw.method)
        response.begin()
        uids = response.getheader(SCHEMA), response.getheader(LEVEL)
    return tuple(names[uid] if uid is not None else None for uid in uids)  # type: ignore[return-value]


def _names(side: Side) -> dict[str, str]:
    lists = [json.loads(side.raw(Step("GET", f"{BASE}/{plural}"))[1])["items"] for plural in ("flowschemas", "prioritylevelconfigurations")]
    return {one["metadata"]["uid"]: one["metadata"]["name"] for items in lists for one in items}


def test_classifications(secured: tuple[Pair, tuple[ssl.SSLContext, ssl.SSLContext]]) -> None:
    """Classify 200 requests of ten users alike."""
    both, contexts = secured
    theirs = _names(both.reference)
    ours = _names(both.ours)
    differences, found = [], set()
    for who, (method, path) in product(USERS, REQUESTS):
        raw = request(method, path, [("Authorization", f"Bearer {who}")] if who else ())
        one, other = _classified(both.reference, raw, contexts[0], theirs), _classified(both.ours, raw, contexts[1], ours)
        both.compared += 1
        found.add(one)
        if one != other:
            differences.append((who, method, path, one, other))

    assert len(USERS) * len(REQUESTS) == 200
    assert not differences
    assert len(found) == len(BOOTSTRAP.schemas)


def _labels(side: Side) -> dict[str, set[tuple[str, ...]]]:
    """Return the names of the labels of all metrics of flow control, and the bounds of the buckets."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for name, labels in _SAMPLE.findall(side.raw(Step("GET", "/metrics"))[1].decode()):
        found.setdefault(name, set()).add(tuple(sorted(re.findall(r'le="[^"]*"|\w+(?==)', labels))))
    return found


def test_metrics(secured: tuple[Pair, tuple[ssl.SSLContext, ssl.SSLContext]]) -> None:
    """Give each metric the reference's labels, and each histogram its buckets."""
    both, contexts = secured
    for side, context in zip((both.reference, both.ours), contexts, strict=True):
        for method, path in (("GET", "/api/v1/namespaces"), ("DELETE", "/api/v1/namespaces/none")):
            with send(side, request(method, path, [("Authorization", "Bearer bob")]).data, context) as connection:
                connection.recv(1)
    theirs, ours = map(_labels, (both.reference, both.ours))

    assert ours == {name: labels for name, labels in theirs.items() if name in ours}
    assert {name for name in theirs if name.endswith("_bucket")} <= ours.keys()


@pytest.mark.parametrize("name", ["dump_priority_levels", "dump_queues", "dump_requests", "dump_requests?includeRequestDetails=1", "none"])
def test_dumps(pair: Pair, name: str) -> None:
    """Name the columns of each table alike, and describe the same levels and queues."""
    answers = [side.raw(Step("GET", f"/debug/api_priority_and_fairness/{name}")) for side in (pair.reference, pair.ours)]

    tables = [[[cell.strip() for cell in line.split(",")] for line in data.decode().splitlines()] for _, data in answers]
    heads = [(response.status, response.getheader("Content-Type"), table[0]) for (response, _), table in zip(answers, tables, strict=True)]
    assert heads[0] == heads[1]
    if "requests" not in name:
        assert sorted(row[:2] for row in tables[0]) == sorted(row[:2] for row in tables[1])


READS: Final = [
    Step("GET", "/apis/flowcontrol.apiserver.k8s.io"),
    *(Step("GET", f"{BASE}/flowschemas/{name}") for name in ("none", "probes/none")),
    Step("GET", f"{BASE}/prioritylevelconfigurations/none/status"),
    *(Step("GET", f"{BASE}/{plural}?fieldSelector=metadata.name%3Dnone") for plural in ("flowschemas", "prioritylevelconfigurations")),
    Step("GET", f"{BASE}/flowschemas?fieldSelector=spec.x%3Da"),
]


@pytest.mark.parametrize("step", READS, ids=str)
def test_reads(pair: Pair, step: Step) -> None:
    """Answer reads as the reference does."""
    assert not _without_revisions(pair.differences(step))


def _without_revisions(found: list[str]) -> list[str]:
    return [line for line in found if "resourceVersion" not in line]


@pytest.mark.parametrize("accept", ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"])
@pytest.mark.parametrize("path", ["flowschemas/probes", "flowschemas/catch-all/status", "prioritylevelconfigurations/system"])
def test_objects(pair: Pair, path: str, accept: str) -> None:
    """Show name, field managers, spec and status of the objects alike in every media type."""
    answers = [side.raw(Step("GET", f"{BASE}/{path}", headers={"Accept": accept})) for side in (pair.reference, pair.ours)]

    assert [(response.status, response.getheader("Content-Type")) for response, _ in answers] == [(200, accept)] * 2
    assert _contents(accept, answers[0][1]) == _contents(accept, answers[1][1])


def _contents(accept: str, data: bytes) -> Any:
    if accept.endswith("protobuf"):
        resource = FLOW_SCHEMAS if b"FlowSchema" in data[:80] else PRIORITY_LEVEL_CONFIGURATIONS
        obj = kinds.read(data, message_of(struct_of(resource.kind)))
    else:
        obj = yaml.safe_load(data)
    conditions = [{**one, "lastTransitionTime": ""} for one in obj["status"].get("conditions") or ()]
    metadata = obj["metadata"]
    managers = [{**one, "time": ""} for one in metadata["managedFields"]]
    return metadata["name"], metadata["annotations"], managers, obj["spec"], conditions


def test_tables(pair: Pair) -> None:
    """Print the objects alike and in the same order, also where a list is limited."""
    accept = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    for path, age in (("flowschemas", 4), ("flowschemas?limit=4", 4), ("flowschemas/probes", 4), ("prioritylevelconfigurations", 6)):
        tables = [json.loads(side.raw(Step("GET", f"{BASE}/{path}", headers=accept))[1]) for side in (pair.reference, pair.ours)]
        cells = [[[*row["cells"][:age], *row["cells"][age + 1 :]] for row in table["rows"]] for table in tables]
        assert tables[0]["columnDefinitions"] == tables[1]["columnDefinitions"]
        assert cells[0] == cells[1]


def test_refuses_writes(pair: Pair) -> None:
    """Refuse writes with 405, also for a name that does not exist."""
    for method, path in (("POST", BASE + "/flowschemas"), ("PUT", f"{BASE}/flowschemas/probes"), ("DELETE", f"{BASE}/flowschemas/probes")):
        response, data = pair.ours.raw(Step(method, path, {}))
        assert (response.status, json.loads(data)["reason"]) == (405, "MethodNotAllowed")
