"""Both servers with CBORServingAndStorage: bodies, responses, watches, discovery, numbers, and what is stored."""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import cbor2
import pytest

from apiext.base.meta.encoding import cbor_codec
from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Pair, Step
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import Etcd, gateway
from tests.differential.helpers import refusals
from tests.support.builders.crds import crd, version
from tests.support.servers.in_process import CRDS

pytestmark = pytest.mark.slow

GATE: Final = "--feature-gates=CBORServingAndStorage=true"
CBOR: Final = "application/cbor"
BASE: Final = "/apis/cbor.example.com/v1/namespaces/default/foos"
FOO: Final = {"apiVersion": "cbor.example.com/v1", "kind": "Foo", "metadata": {"name": "a"}}
NAMESPACE: Final = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "cbor"}}
METADATA_OF: Final = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
TABLE: Final = "as=Table;g=meta.k8s.io;v=v1"
ITEMS: Final = (
    *("1b7fffffffffffffff", "1bffffffffffffffff", "3bffffffffffffffff", "c249010000000000000000", "f97e00", "f97c00", "f7", "e0"),
    *("f8ff", "f93e00", "fb3ff199999999999a"),
    *("c0616a", "43010203", "43ff4142", "61ff", "a10102", "a1416102"),
    *("a2616101616102", "a2616101416102", "a3616101616202616203", "a1617882a1616101a2616201616202", "bf61619f01ffff"),
    *("7f61616162ff", "5f41614162ff", "d9d9f701"),
)
"""Encoded items of all kinds, without tags, which apiext refuses."""
NO_OBJECTS: Final = (*("", "ff", "8101", "03", "63616263", "f6", "a16161", "a1616120", "a16161420a61", "a16161f93c00", "a1616162c3a9"),)
SCHEMA: Final = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"replicas": {"type": "integer"}, "x": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        },
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
    },
}
_NUMBER: Final = {"type": "number"}
_ANYTHING: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
NUMBERS_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "n": _NUMBER,
                "m": _NUMBER,
                "i": {"type": "integer"},
                "default": {"type": "number", "default": 1.0},
                "defaults": {**_ANYTHING, "default": {"whole": 2.0, "zero": -0.0, "large": 1e21}},
                "any": _ANYTHING,
                "set": {"type": "array", "items": _NUMBER, "x-kubernetes-list-type": "set"},
                "map": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {"type": "object", "required": ["k"], "properties": {"k": _NUMBER, "v": _NUMBER}},
                },
            },
        },
        "status": _ANYTHING,
    },
}
NUMBERS_COLUMNS: Final = [
    {"name": f"{name} {kind}", "type": kind, "jsonPath": f".spec.{name}"}
    for name in ("n", "i", "any")
    for kind in ("number", "integer", "string")
]
NUMBERS: Final = b"""{"n":1.0,"m":1e3,"i":1.0,"set":[1.0,2,3.5],"map":[{"k":1.0,"v":2.0},{"k":2,"v":3}],
"any":{"a":1.0,"b":1e3,"c":-0.0,"d":1e21,"e":0.5,"f":9007199254740993,"g":9007199254740993.0,"h":100000000.0,"j":-0,"k":1,"l":[1.0,2],"s":"x.0"}}"""


@pytest.fixture(scope="module")
def etcd_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the etcd of both servers."""
    with Etcd(tmp_path_factory.mktemp("etcd"), durable=False) as etcd:
        yield etcd.url


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, etcd_url: str) -> Iterator[Pair]:
    """Start both servers, with a resource."""
    folder = tmp_path_factory.mktemp("cbor")
    subresources = {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}
    foos = crd("foos", version("v1", storage=True, schema=SCHEMA, subresources=subresources), kind="Foo", group="cbor.example.com")
    with (
        ControlPlane(folder / "reference", etcd_url=etcd_url, extra_args=[GATE]) as plane,
        BareServer(folder, etcd_url=etcd_url, etcd_prefix="/apiext", extra_args=[GATE]) as server,
    ):
        pair = Pair(plane, server)
        with pair.served(foos):
            yield pair
        pair.close()


def _in_spec(item: str) -> bytes:
    whole = cbor2.dumps({**FOO, "spec": {"x": {"v": "<item>"}}})
    return whole.replace(cbor2.dumps("<item>"), bytes.fromhex(item))


def _steps() -> Iterator[Step]:
    sent, accepted = {"Content-Type": CBOR}, {"Accept": CBOR}
    dry = f"{BASE}?dryRun=All"
    for item in ITEMS:
        yield Step("POST", dry, _in_spec(item), sent)
    for data in NO_OBJECTS:
        yield Step("POST", dry, bytes.fromhex(data), sent)
    bodies: list[dict[str, Any]] = [
        {**FOO, "kind": 3},
        {**FOO, "kind": b"Foo"},
        {**FOO, "apiVersion": None},
        {**FOO, "apiVersion": "cbor.example.com/v2"},
        {**FOO, "kind": "Bar"},
        {**FOO, "spec": {"unknown": 1}, "foo": 1},
        {**FOO, "spec": {"replicas": "x"}},
        {**FOO, "metadata": {"name": 3}},
    ]
    for body in bodies:
        for mode in ("", "&fieldValidation=Strict"):
            yield Step("POST", dry + mode, cbor2.dumps(body), sent | accepted)
    for body in ({**NAMESPACE, "foo": 1}, {"q": 1, **NAMESPACE}, {"metadata": {"name": "cbor"}}, FOO, {"kind": 3}):
        for mode in ("", "&fieldValidation=Strict"):
            yield Step("POST", f"/api/v1/namespaces?dryRun=All{mode}", cbor2.dumps(body), sent)
    yield Step("POST", BASE, cbor2.dumps({**FOO, "spec": {"replicas": 2, "x": {"s": "é", "n": -500, "l": [None, True]}}}), sent | accepted)
    for path in (
        f"{BASE}/a",
        BASE,
        f"{BASE}/a/scale",
        f"{BASE}/a/status",
        f"{BASE}/none",
        "/api/v1/namespaces/default",
        f"{CRDS}/foos.cbor.example.com",
    ):
        for accept in (
            CBOR,
            f"{CBOR};{METADATA_OF}",
            f"{CBOR};{TABLE}",
            "application/cbor-seq",
            "application/xml",
            f"{CBOR},application/json",
        ):
            yield Step("GET", path, headers={"Accept": accept})
    for path in ("/apis/cbor.example.com", "/apis/cbor.example.com/v1", "/apis/apiextensions.k8s.io/v1", "/version", "/nope"):
        yield Step("GET", path, headers=accepted)
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 3}}
    yield Step("PUT", f"{BASE}/a/scale", cbor2.dumps(scale), sent | accepted)
    yield Step("POST", BASE, b"x", {"Content-Type": "application/xml"})
    yield Step("DELETE", f"{BASE}/a", cbor2.dumps({"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]}), sent | accepted)
    yield Step("DELETE", f"{BASE}/a", b"\xff", sent)
    yield Step("DELETE", f"{BASE}/a", b"\x80", sent)


def test_requests(both: Pair) -> None:
    """Answer requests in CBOR as the reference does."""
    assert refusals.differences(both, _steps()) == []


def test_applies(both: Pair) -> None:
    """Apply configurations in CBOR, and refuse what is none."""
    headers = {"Content-Type": "application/apply-patch+cbor", "Accept": CBOR}
    one = f"{BASE}/applied?fieldManager="
    mine = {**FOO, "metadata": {"name": "applied"}, "spec": {"replicas": 1, "x": {"a": "é"}}}
    bodies = [
        cbor2.dumps(mine),
        cbor2.dumps(mine | {"spec": {"replicas": 2}}),
        *map(bytes.fromhex, ("ff", "", "80", "a0", "f6")),
    ]
    steps = [Step("PATCH", f"{one}{manager}", body, headers) for manager in ("a", "b", "b&force=true") for body in bodies]

    assert refusals.differences(both, [*steps, Step("PATCH", f"{one}a", b"x", {"Content-Type": "x"})]) == []


def _number_steps(base: str) -> Iterator[Step]:
    """Write whole floats in every way, and read them in every form."""

    def body(name: str, spec: bytes = NUMBERS, **more: Any) -> dict[str, Any]:
        return {"apiVersion": "cbor.example.com/v1", "kind": "Bar", "metadata": {"name": name}, "spec": json.loads(spec)} | more

    accepted, merge = {"Accept": CBOR}, {"Accept": CBOR, "Content-Type": "application/merge-patch+json"}
    yield Step("POST", base, body("json"), accepted)
    yield Step("POST", base, json.dumps(body("yaml")).encode(), {**accepted, "Content-Type": "application/yaml"})
    yield Step("POST", base, cbor2.dumps(body("cbor")), {**accepted, "Content-Type": CBOR})
    yield Step("POST", f"{base}?dryRun=All", body("dry"), accepted)
    for name in ("json", "yaml", "cbor"):
        yield Step("GET", f"{base}/{name}", headers=accepted)
        yield Step("GET", f"{base}/{name}", headers={"Accept": f"application/json;{TABLE}"})
        yield Step("GET", f"{base}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name={name}", headers=accepted)
    for path in (base, f"{base}?resourceVersion=0", f"{base}?fieldSelector=spec.i%3D1"):
        yield Step("GET", path, headers=accepted)
    same = {"metadata": {"name": "cbor", "resourceVersion": f"{{rv:{base}/cbor}}"}}
    yield Step("PUT", f"{base}/cbor", body("cbor", b'{"n":1,"m":1000.0,"any":{"a":1,"b":2.0}}', **same), accepted)
    yield Step("PUT", f"{base}/cbor/status", body("cbor", b"{}", status={"q": 1.0, "r": 1}, **same), accepted)
    yield Step("PATCH", f"{base}/cbor/status", {"status": {"z": 5.0}}, merge)
    yield Step("PATCH", f"{base}/cbor", {"spec": {"m": 2.0}}, merge)
    yield Step("PATCH", f"{base}/json", {}, merge)
    for test in (b"1", b"1.0"):
        operations = b'[{"op":"test","path":"/spec/n","value":%b},{"op":"add","path":"/spec/any/new","value":3.0}]' % test
        yield Step("PATCH", f"{base}/yaml", operations, {**accepted, "Content-Type": "application/json-patch+json"})
    for form, encode in (("yaml", lambda obj: json.dumps(obj).encode()), ("cbor", cbor2.dumps)):
        headers = {**accepted, "Content-Type": f"application/apply-patch+{form}"}
        yield Step("PATCH", f"{base}/applied-{form}?fieldManager=a", encode(body(f"applied-{form}")), headers)
        yield Step("PATCH", f"{base}/applied-cbor?fieldManager=a", encode(body("applied-cbor")), headers)
        for spec in (b'{"n":1,"m":1000}', b'{"set":[1,7.0],"map":[{"k":1,"v":2}]}', b'{"map":[{"k":1.0,"v":4}]}'):
            yield Step("PATCH", f"{base}/applied-cbor?fieldManager=b", encode(body("applied-cbor", spec)), headers)
    yield Step("GET", base, headers=accepted)
    yield Step("DELETE", f"{base}/cbor", headers=accepted)
    yield Step("DELETE", base, headers=accepted)


def test_numbers(both: Pair) -> None:
    """Keep the types of numbers wherever the reference does: a JSON or merge patch, YAML and defaults make whole floats integers."""
    more = {"additionalPrinterColumns": NUMBERS_COLUMNS, "selectableFields": [{"jsonPath": ".spec.i"}], "subresources": {"status": {}}}
    bars = crd("bars", version("v1", storage=True, schema=NUMBERS_SCHEMA, **more), kind="Bar", group="cbor.example.com")
    base = "/apis/cbor.example.com/v1/namespaces/default/bars"

    with both.served(bars):
        assert [line for step in _number_steps(base) for line in both.differences(step)] == []


def test_numbers_in_json(both: Pair) -> None:
    """Spell numbers as the reference in JSON and YAML, and write an object of which a patch changes only the types of numbers."""
    made = b'{"apiVersion":"cbor.example.com/v1","kind":"Foo","metadata":{"name":"n"},"spec":{"x":%b}}' % NUMBERS
    steps = [
        Step("POST", BASE, made),
        *(Step("GET", f"{BASE}/n", headers={"Accept": accept}) for accept in ("application/json", "application/yaml")),
        Step("GET", BASE),
        Step("GET", f"{BASE}/n?pretty=1"),
        Step("GET", f"{BASE}?pretty=1"),
        Step("GET", f"{BASE}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name=n"),
    ]
    spelled, unchanged = [], []
    for side in (both.reference, both.ours):
        spelled.append([_numbers(side.raw(step)[1]) for step in steps])
        before, *after = (
            json.loads(side.raw(step)[1])["metadata"]["resourceVersion"]
            for step in (Step("GET", f"{BASE}/n"), *[Step("PATCH", f"{BASE}/n", {})] * 2)
        )
        unchanged.append([before == after[0], after[0] == after[1]])

    assert spelled[0] == spelled[1]
    assert all(spelled[0])
    assert unchanged == [[False, True]] * 2


def _numbers(data: bytes) -> list[bytes]:
    """Return the members of the object `x` with their numbers as they are spelled."""
    return re.findall(rb'"?\b[a-ln-s]"?: ?-?[0-9][-+.0-9e]*', data)


def test_large_lists(both: Pair) -> None:
    """List many objects as one array."""
    text = "x" * 10_000
    made = [{**FOO, "metadata": {"name": f"large{number}"}, "spec": {"x": {"text": text}}} for number in range(30)]
    steps = [Step("POST", BASE, body) for body in made] + [Step("GET", BASE, headers={"Accept": CBOR})]

    assert [line for step in steps for line in both.differences(step)] == []


@pytest.mark.parametrize("accept", [CBOR, f"{CBOR};{METADATA_OF}", f"{CBOR};{TABLE}", "application/cbor-seq", "application/yaml"])
def test_watches(both: Pair, accept: str) -> None:
    """Send each event as an item of a CBOR sequence."""
    for side in (both.reference, both.ours):
        side.raw(Step("POST", BASE, FOO))
    path = f"{BASE}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name=a"

    assert both.differences(Step("GET", path, headers={"Accept": accept})) == []


def test_what_is_stored(both: Pair, etcd_url: str) -> None:
    """Store the same members in CBOR, whole floats included."""
    body = cbor2.dumps({**FOO, "metadata": {"name": "stored"}, "spec": {"x": {"f": 1.0, "b": {"z": 1, "aa": "y"}}}})
    for side in (both.reference, both.ours):
        assert side.raw(Step("POST", BASE, body, {"Content-Type": CBOR}))[0].status == 201

    stored = [_stored(etcd_url, f"{prefix}/cbor.example.com/foos/default/stored") for prefix in ("/registry", "/apiext")]

    assert all(data.startswith(cbor_codec.PREFIX) for data in stored)
    theirs, ours = (masked(cbor_codec.loads(data)) for data in stored)
    assert theirs == ours
    assert all(bytes.fromhex("4166f93c00") in data for data in stored)


def _stored(etcd_url: str, key: str) -> bytes:
    found = gateway(etcd_url, "kv/range", key=base64.b64encode(key.encode()).decode())
    return base64.b64decode(found["kvs"][0]["value"])
