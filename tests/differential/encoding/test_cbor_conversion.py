"""Conversion webhooks of servers with CBORServingAndStorage: what they get, and what becomes of their answers."""

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
from tests.support.builders.crds import crd, version
from tests.support.conversion_webhook import Call, ConversionWebhook, Json, Reply, conversion_webhook, converting, reviewed

pytestmark = pytest.mark.slow

GATE: Final = "--feature-gates=CBORServingAndStorage=true"
CBOR: Final = "application/cbor"
GROUP: Final = "cborconversion.example.com"
V1: Final = f"/apis/{GROUP}/v1/namespaces/default/things"
V2: Final = f"/apis/{GROUP}/v2/namespaces/default/things"
ACCEPTED: Final = {"Accept": CBOR}
SENT: Final = {"Accept": CBOR, "Content-Type": CBOR}
NUMBERS: Final = {"whole": 1.0, "half": 0.5, "exponent": 1e3, "zero": -0.0, "large": 1e21, "exact": 2.0**53, "integer": 1, "list": [1.0, 2]}
SCHEMA: Final = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"number": {"type": "number"}, "replicas": {"type": "integer"}, "default": {"type": "number", "default": 3.0}},
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
COLUMNS: Final = [{"name": name, "type": "number", "jsonPath": f".spec.{name}"} for name in ("whole", "number", "default")]
_UNIQUE: Final = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9-]{10}T[0-9:]{8}Z")


@pytest.fixture(scope="module")
def etcd_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the etcd of both servers."""
    with Etcd(tmp_path_factory.mktemp("etcd"), durable=False) as etcd:
        yield etcd.url


@pytest.fixture(scope="module")
def webhook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConversionWebhook]:
    """Run a webhook that changes nothing but the version."""
    with conversion_webhook(tmp_path_factory.mktemp("webhook")) as running:
        yield running


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, etcd_url: str) -> Iterator[Pair]:
    """Start both servers."""
    folder = tmp_path_factory.mktemp("cbor")
    with (
        ControlPlane(folder / "reference", etcd_url=etcd_url, extra_args=[GATE]) as plane,
        BareServer(folder, etcd_url=etcd_url, etcd_prefix="/apiext", extra_args=[GATE]) as server,
    ):
        pair = Pair(plane, server)
        yield pair
        pair.close()


@pytest.fixture
def things(both: Pair, webhook: ConversionWebhook) -> Iterator[Pair]:
    """Serve a definition whose objects are stored in v1."""
    more: dict[str, Any] = {"additionalPrinterColumns": COLUMNS, "subresources": {"status": {}}}
    versions = [version(name, storage=name == "v1", schema=SCHEMA, **more) for name in ("v1", "v2")]
    webhook.answer = converting()
    with both.served(crd("things", *versions, kind="Thing", group=GROUP, conversion=webhook.conversion())):
        yield both
        webhook.answer = converting()


def _thing(name: str, api: str = "v1", **more: Any) -> Json:
    return {"apiVersion": f"{GROUP}/{api}", "kind": "Thing", "metadata": {"name": name}, "spec": NUMBERS | more}


def _reads(name: str) -> Iterator[Step]:
    table, metadata = (f"as={kind};g=meta.k8s.io;v=v1" for kind in ("Table", "PartialObjectMetadata"))
    for base in (V1, V2):
        for accept in (CBOR, "application/json", "application/yaml", f"{CBOR};{table}", f"{CBOR};{metadata}"):
            yield Step("GET", f"{base}/{name}", headers={"Accept": accept})
            yield Step("GET", base, headers={"Accept": accept})
        yield Step("GET", f"{base}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name={name}", headers=ACCEPTED)


def _steps() -> Iterator[Step]:
    """Write whole floats in both versions in every way, and read them in every form."""
    yield Step("POST", V1, cbor2.dumps(_thing("a", number=2.0)), SENT)
    yield from _reads("a")
    yield Step("POST", f"{V2}?dryRun=All", cbor2.dumps(_thing("b", "v2", number=2.0)), SENT)
    yield Step("POST", V2, cbor2.dumps(_thing("b", "v2", number=2.0)), SENT)
    yield from _reads("b")
    yield Step("POST", V2, _thing("c", "v2", number=2.0), ACCEPTED)
    yield from _reads("c")
    for base, number in ((V1, "v1"), (V2, "v2")):
        merge, patch = ({**ACCEPTED, "Content-Type": f"application/{kind}-patch+json"} for kind in ("merge", "json"))
        yield Step("PUT", f"{base}/a", cbor2.dumps(_thing("a", number, number=4.0, more={"x": 5.0})), SENT)
        yield from _reads("a")
        yield Step("PATCH", f"{base}/a", {"spec": {"patched": 6.0}}, merge)
        yield Step("PATCH", f"{base}/a", [{"op": "add", "path": "/spec/added", "value": 7.0}], patch)
        yield Step("PATCH", f"{base}/a/status", {"status": {"number": 8.0}}, merge)
        status = _thing("a", number) | {"status": {"number": 9.0}}
        yield Step("PUT", f"{base}/a/status", cbor2.dumps(status), SENT)
        yield from _reads("a")
        for manager, spec in (("one", {"number": 1.0}), ("two", {"whole": 1.0}), ("one", {"number": 1})):
            headers = {**ACCEPTED, "Content-Type": "application/apply-patch+cbor"}
            body = _thing("applied", number) | {"spec": spec}
            yield Step("PATCH", f"{base}/applied?fieldManager={manager}&force=true", cbor2.dumps(body), headers)
        yield from _reads("applied")
    yield Step("DELETE", f"{V2}/a", headers=ACCEPTED)
    yield Step("DELETE", V2, headers=ACCEPTED)


def test_requests(things: Pair) -> None:
    """Make integers of the whole floats of an object that is converted, and only of those."""
    assert [line for step in _steps() for line in things.differences(step)] == []


def test_what_the_webhook_gets(things: Pair, webhook: ConversionWebhook) -> None:
    """Send objects that are stored in CBOR as JSON, with the same bytes."""
    seen = []
    for side in (things.reference, things.ours):
        side.raw(Step("POST", V1, cbor2.dumps(_thing("a", number=2.0, data=b"\x00\x7f", text="<é>")), SENT))
        webhook.calls.clear()
        side.raw(Step("GET", f"{V2}/a", headers=ACCEPTED))
        call = webhook.calls[0]
        shown = [call.headers.get(name) for name in ("accept", "accept-encoding", "content-type", "user-agent", "host")]
        seen.append((shown, _UNIQUE.sub(b"*", call.body)))

    assert seen[0] == seen[1]


def test_what_is_stored(things: Pair, etcd_url: str) -> None:
    """Store the same numbers of converted objects."""
    for body in (_thing("b", "v2", number=2.0), _thing("c", "v2", number=3)):
        for side in (things.reference, things.ours):
            assert side.raw(Step("POST", V2, cbor2.dumps(body), SENT))[0].status == 201
    stored = [[_stored(etcd_url, f"{prefix}/{GROUP}/things/default/{name}") for name in ("b", "c")] for prefix in ("/registry", "/apiext")]

    assert repr(stored[0]) == repr(stored[1])


def _stored(etcd_url: str, key: str) -> Any:
    found = gateway(etcd_url, "kv/range", key=base64.b64encode(key.encode()).decode())
    data = base64.b64decode(found["kvs"][0]["value"])
    assert data.startswith(cbor_codec.PREFIX)
    return _sorted(masked(cbor_codec.loads(data)))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(member) for key, member in sorted(value.items())}
    return [_sorted(member) for member in value] if isinstance(value, list) else value


def _adding(text: str) -> Any:
    """Return an answer with numbers as `text` spells them."""

    def answer(call: Call) -> Reply:
        objects = [obj | {"apiVersion": call.review["request"]["desiredAPIVersion"]} for obj in call.objects]
        for obj in objects:
            obj["spec"] = "SPEC"
        return Reply(json.dumps(reviewed(call, objects)).replace('"SPEC"', text).encode())

    return answer


@pytest.mark.parametrize(
    "spec", ['{"number": 1.0}', '{"number": 1e3, "x": [2.0, -0.0, -0, 1e21, 9007199254740993.0]}', '{"number": 1, "replicas": 2.0}']
)
def test_numbers_of_answers(things: Pair, webhook: ConversionWebhook, spec: str) -> None:
    """Keep numbers as the webhook spells them."""
    webhook.answer = _adding(spec)
    steps = [
        Step("POST", V1, cbor2.dumps(_thing("a")), SENT),
        *_reads("a"),
        Step("POST", V2, cbor2.dumps(_thing("d", "v2")), SENT),
        *_reads("d"),
    ]

    assert [line for step in steps for line in things.differences(step)] == []


def test_answers_in_cbor(things: Pair, webhook: ConversionWebhook) -> None:
    """Refuse an answer in CBOR; the reference reads it as YAML, whose errors have other words here."""
    plain = converting()
    webhook.answer = lambda call: Reply(cbor2.dumps(plain(call)), headers={"Content-Type": CBOR})
    assert things.differences(Step("POST", V1, cbor2.dumps(_thing("a")), SENT)) == []
    answers = [side.ask(Step("GET", f"{V2}/a")) for side in (things.reference, things.ours)]

    assert [answer.code for answer in answers] == [500, 500]
    assert all(f"conversion webhook for {GROUP}/v1, Kind=Thing failed: " in answer.body["message"] for answer in answers)
