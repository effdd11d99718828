"""Conversion webhooks: both servers call the same scripted one."""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Answer, Pair, Side, Step
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.certificates import Authority
from hack.lib.servers.controlplane import ControlPlane
from tests.differential.cases.webhook_answers import ANSWERS, GROUP
from tests.differential.helpers import watching
from tests.differential.helpers.differences import assert_none
from tests.support.builders.crds import crd, version
from tests.support.conversion_webhook import (
    Call,
    ConversionWebhook,
    Json,
    Reply,
    conversion_webhook,
    converting,
    failing,
)

pytestmark = pytest.mark.slow

V1: Final = f"/apis/{GROUP}/v1/namespaces/default/things"
V2: Final = f"/apis/{GROUP}/v2/namespaces/default/things"
ONE: Final = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{GROUP}"
APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
_REVISION: Final = re.compile(r"revision=\d+")
_UNIQUE: Final = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9-]{10}T[0-9:]{8}Z")
_SERIES: Final = re.compile(r"^(apiserver_(?:crd_)?conversion_webhook_\w+)\{(.*)\} ", re.MULTILINE)
_SILENT: Final = "conversion webhook"
METADATA: Final = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
SCHEMA: Final = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"replicas": {"type": "integer"}}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
SUBRESOURCES: Final = {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}


def _definition(webhook: ConversionWebhook, *review_versions: str) -> Json:
    versions = [version(name, storage=name == "v1", schema=SCHEMA, subresources=SUBRESOURCES) for name in ("v1", "v2")]
    return crd("things", *versions, kind="Thing", group=GROUP, conversion=webhook.conversion(*review_versions))


def _thing(name: str, number: str = "v1", **spec: Any) -> Json:
    return {"apiVersion": f"{GROUP}/{number}", "kind": "Thing", "metadata": {"name": name}, "spec": {"replicas": 1, **spec}}


@pytest.fixture
def webhook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConversionWebhook]:
    """Run a webhook that changes nothing but the version."""
    with conversion_webhook(tmp_path_factory.mktemp("webhook")) as running:
        yield running


@pytest.fixture
def things(pair: Pair, webhook: ConversionWebhook) -> Iterator[Pair]:
    """Serve the definition, with one object that is stored in v1."""
    with pair.served(_definition(webhook)):
        assert pair.differences(Step("POST", V1, _thing("a"))) == []
        yield pair
        webhook.answer = converting()


def _compared(pair: Pair, webhook: ConversionWebhook, step: Step) -> tuple[list[str], int, int]:
    """Return the differences of the answers to a step, and the calls that each side made for it."""
    webhook.calls.clear()
    theirs, called = pair.reference.ask(step), len(webhook.calls)
    webhook.calls.clear()
    ours = pair.ours.ask(step)
    pair.compared += 1
    return _differences(step, theirs, ours), called, len(webhook.calls)


def _failures_compared(pair: Pair, steps: Iterable[Step]) -> list[str]:
    """Return the differences of the answers to steps.

    The reference gets adjacent reads at once: it waits seconds for its cache in each list of objects that cannot be converted.
    """
    found: list[str] = []
    for together in _with_adjacent_reads(steps):
        for step, theirs in zip(together, pair.reference.together(Side.ask, together), strict=True):
            found += _differences(step, theirs, pair.ours.ask(step))
            pair.compared += 1
    return found


def _with_adjacent_reads(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Yield adjacent reads together, and each other step alone."""
    for reads, adjacent in groupby(steps, lambda step: step.method == "GET"):
        some = list(adjacent)
        yield from [some] if reads else [[step] for step in some]


def _differences(step: Step, theirs: Answer, ours: Answer) -> list[str]:
    if _comparable(theirs) == _comparable(ours):
        return []
    return [f"{step}\n    reference: {_short(theirs)}\n    apiext:    {_short(ours)}"]


def _comparable(answer: Answer) -> tuple[int, dict[str, str], str]:
    """Return an answer without revisions, and without apiext's own warning that a webhook does not answer."""
    headers = {name: value for name, value in answer.headers.items() if name != "Warning" or _SILENT not in value}
    return answer.code, headers, _REVISION.sub("revision=*", json.dumps(answer.body, sort_keys=True))


def _short(answer: Answer) -> str:
    """Return the message of an error, else the whole answer."""
    message = answer.body.get("message") if isinstance(answer.body, dict) else ""
    return f"{answer.code} {message}" if message else str(answer)


def test_answers(things: Pair, webhook: ConversionWebhook) -> None:
    """Report each wrong answer of the webhook as the reference does."""
    found: list[str] = []
    for number, (name, answer) in enumerate(ANSWERS.items()):
        webhook.answer = converting()
        assert things.differences(Step("PATCH", f"{V1}/a", {"spec": {"number": number}})) == []
        webhook.answer = answer
        differences, *_ = _compared(things, webhook, Step("GET", f"{V2}/a"))
        found += [f"{name}: {text}" for text in differences]

    assert_none(found)


def _moved(obj: Json, api_version: str) -> None:
    """Rename spec.host of v1 to spec.address of v2, and set a label and an annotation."""
    names = ("host", "address") if api_version.endswith("v2") else ("address", "host")
    spec = obj.get("spec", {})
    if names[0] in spec:
        spec[names[1]] = spec.pop(names[0])
    metadata = obj["metadata"]
    metadata["annotations"] = metadata.get("annotations", {}) | {"converted": "yes"}
    metadata["finalizers"] = ["example.com/ignored"]


def _manager(name: str) -> str:
    return f"?fieldManager={name}&force=true"


def _verbs() -> list[Step]:
    """Return requests of all verbs in v2, with reads in v1 between them."""
    b = _thing("b", "v2", address="one")
    applied = {"apiVersion": f"{GROUP}/v2", "kind": "Thing", "metadata": {"name": "c"}, "spec": {"address": "x", "replicas": 2}}
    in_v1 = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "c"}, "spec": {"host": "y", "other": 1}}
    return [
        Step("GET", f"{V2}/a"),
        Step("POST", f"{V2}?dryRun=All", b),
        Step("POST", V2, b),
        Step("POST", V2, b),
        Step("GET", f"{V1}/b"),
        Step("PUT", f"{V2}/b", b | {"metadata": {"name": "b", "labels": {"l": "1"}}, "spec": {"address": "two"}}),
        Step("PUT", f"{V2}/b", b | {"metadata": {"name": "b", "resourceVersion": "1"}}),
        Step("PUT", f"{V2}/d", _thing("d", "v2")),
        Step("PATCH", f"{V2}/b", {"spec": {"address": "three"}}),
        Step("PATCH", f"{V1}/b", {"spec": {"more": {"x": 1}}}),
        Step("PATCH", f"{V2}/b", [{"op": "test", "path": "/spec/address", "value": "no"}], {"Content-Type": "application/json-patch+json"}),
        Step("PATCH", f"{V2}/c{_manager('one')}", applied, APPLY),
        Step("PATCH", f"{V1}/c{_manager('two')}", in_v1, APPLY),
        Step("PATCH", f"{V2}/c{_manager('one')}", applied | {"spec": {"replicas": 3}}, APPLY),
        Step("PATCH", f"{V2}/c?fieldManager=three", applied | {"spec": {"address": "z"}}, APPLY),
        Step("GET", f"{V1}/c"),
        Step("PATCH", f"{V2}/c/status", {"status": {"ready": True}}),
        Step("PUT", f"{V2}/c/status", applied | {"status": {"address": "q"}}),
        Step("GET", f"{V2}/c/scale"),
        Step("PATCH", f"{V2}/c/scale", {"spec": {"replicas": 5}}),
        Step("GET", f"{V1}/c/scale"),
        Step("GET", f"{V2}/c"),
        Step("GET", V2),
        Step("GET", V1),
        Step("GET", f"{V2}?limit=1"),
        Step("GET", f"{V2}?labelSelector=l%3D1"),
        Step("GET", V2, headers=TABLE),
        Step("GET", f"{V2}/a", headers=TABLE),
        Step("GET", f"{V2}/a", headers=METADATA),
        Step("DELETE", f"{V2}/b?dryRun=All"),
        Step("DELETE", f"{V2}/b", {"preconditions": {"uid": "x"}}),
        Step("DELETE", f"{V2}/b"),
        Step("DELETE", f"{V2}/b"),
        Step("DELETE", f"{V2}?dryRun=All"),
        Step("DELETE", V2),
        Step("GET", V1),
    ]


@pytest.mark.parametrize("review", ["v1", "v1beta1"])
def test_verbs(pair: Pair, webhook: ConversionWebhook, review: str) -> None:
    """Convert in all verbs with the same results, and with no more calls."""
    webhook.answer = converting(_moved)
    found: list[str] = []
    calls = [0, 0]
    with pair.served(_definition(webhook, review)):
        assert pair.differences(Step("POST", V1, _thing("a", host="a"))) == []
        for step in _verbs():
            differences, theirs, ours = _compared(pair, webhook, step)
            found += differences
            calls[0] += theirs
            calls[1] += ours

    assert_none(found)
    assert calls[1] <= calls[0]


@pytest.mark.parametrize("name", ["failure with message", "break", "not converted"])
def test_failures(things: Pair, webhook: ConversionWebhook, name: str) -> None:
    """Fail in all verbs as the reference does."""
    webhook.answer = ANSWERS[name]
    assert_none(_failures_compared(things, _verbs()))


def test_requests(pair: Pair, webhook: ConversionWebhook) -> None:
    """Send the same request for an object, in v1 and in v1beta1."""
    for review in ("v1", "v1beta1"):
        with pair.served(_definition(webhook, review)):
            seen = []
            for side in (pair.reference, pair.ours):
                side.raw(Step("POST", V1, _thing("a", text="<&>")))
                webhook.calls.clear()
                side.raw(Step("GET", f"{V2}/a"))
                # the reference's storage of the definition before it may still convert what is written
                call = next(one for one in webhook.calls if one.review["apiVersion"] == f"apiextensions.k8s.io/{review}")
                shown = [call.headers.get(name) for name in ("accept", "accept-encoding", "content-type", "user-agent", "host")]
                seen.append((call.path, shown, masked(call.review), _UNIQUE.sub(b"*", call.body)))

            assert seen[0] == seen[1]


def _refuse_b(call: Call) -> Reply | Json:
    return failing("b is odd")(call) if "b" in call.names else converting()(call)


def test_partial_failures(things: Pair, webhook: ConversionWebhook) -> None:
    """Name the objects of a list that cannot be converted, and only those; delete none of a collection."""
    steps = [
        *(Step("POST", V1, _thing(name)) for name in ("b", "c")),
        Step("GET", f"{V2}/b"),
        Step("GET", V2),
        Step("GET", V2, headers=TABLE),
        Step("GET", f"{V2}?limit=1"),
        Step("GET", f"{V2}?limit=2"),
        Step("DELETE", V2),
        Step("GET", V1),
        Step("DELETE", f"{V2}/b"),
        Step("PATCH", f"{V2}/b", {"spec": {"x": 1}}),
        Step("PUT", f"{V2}/b", _thing("b", "v2")),
        Step("GET", f"{V1}/b"),
    ]
    webhook.answer = _refuse_b
    assert_none(_failures_compared(things, steps))


def test_watches(pair: Pair, webhook: ConversionWebhook) -> None:
    """Convert the events of watches."""
    webhook.answer = converting(_moved)
    with pair.served(_definition(webhook)):
        assert pair.differences(Step("POST", V1, _thing("a", host="a"))) == []
        revision = f"resourceVersion={{rv:{V1}/a}}&timeoutSeconds=4"
        watches = (f"{V2}?watch=1&timeoutSeconds=4", f"{V2}?watch=1&{revision}", f"{V2}?watch=1&{revision}&fieldSelector=metadata.name%3Dc")
        steps = [Step("POST", V1, _thing("c", host="x")), Step("PATCH", f"{V1}/c", {"spec": {"host": "y"}}), Step("DELETE", f"{V1}/c")]
        found = watching.differences(pair, [Step("GET", path) for path in watches], steps)

    assert not found, "\n".join(found)


@pytest.fixture
def uncached(tmp_path: Path) -> Iterator[Pair]:
    """Start both servers without watch caches, which call the webhook in the background."""
    flag = "--watch-cache=false"
    with (
        ControlPlane(tmp_path / "reference", durable=False, extra_args=[flag]) as plane,
        BareServer(tmp_path, extra_args=[flag]) as server,
    ):
        both = Pair(plane, server)
        yield both
        both.close()


def test_without_watch_caches(uncached: Pair, webhook: ConversionWebhook) -> None:
    """Need no more calls than the reference; end a watch with the error of an object, after the events before it."""
    webhook.answer = converting(_moved)
    found: list[str] = []
    calls = [0, 0]
    with uncached.served(_definition(webhook)):
        assert uncached.differences(Step("POST", V1, _thing("a", host="a"))) == []
        for step in _verbs():
            differences, theirs, ours = _compared(uncached, webhook, step)
            found += differences
            calls[0] += theirs
            calls[1] += ours
        for name in ("a", "b"):
            found += uncached.differences(Step("POST", V1, _thing(name)))
        webhook.answer = _refuse_b
        watches = [Step("GET", f"{V2}?watch=1&timeoutSeconds=4{more}") for more in ("", f"&resourceVersion={{rv:{V1}/a}}")]
        found += watching.differences(uncached, watches, [])

    assert_none(found)
    assert calls[1] <= calls[0]


def test_metrics(things: Pair, webhook: ConversionWebhook) -> None:
    """Count conversions in series with the reference's names and labels."""
    webhook.answer = failing()
    things.differences(Step("GET", f"{V2}/a"))
    webhook.answer = converting()
    things.differences(Step("GET", f"{V2}/a"))
    theirs, ours = _conversion_series(things.reference), _conversion_series(things.ours)

    assert theirs - ours == set()


def _conversion_series(side: Side) -> set[tuple[str, ...]]:
    """Return names and labels of the series of the definition and of refusals."""
    found = _SERIES.findall(side.raw(Step("GET", "/metrics"))[1].decode())
    return {(name, *sorted(labels.split(","))) for name, labels in found if GROUP in labels or "malformed" in labels}


def test_certificates(things: Pair, webhook: ConversionWebhook, tmp_path: Path) -> None:
    """Report rejected certificates as the reference does; use a new caBundle at once."""
    good, other = webhook.certificate, Authority(tmp_path / "other", "another authority")
    certificates = [
        webhook.authority.issue("elsewhere", hosts=["10.0.0.1", "a.example.com"]),
        webhook.authority.issue("named", hosts=["localhost"]),
        other.issue("unknown"),
        # it ended a minute ago
        Authority(tmp_path / "expired", "expired", lifetime=-timedelta(minutes=1)).pair,
    ]
    found: list[str] = []
    for number, certificate in enumerate(certificates):
        webhook.present(good)
        found += things.differences(Step("PATCH", f"{V1}/a", {"spec": {"number": number}}))
        found += things.differences(Step("GET", f"{V2}/a"))
        found += things.differences(Step("PATCH", f"{V1}/a", {"spec": {"number": -1}}))
        webhook.present(certificate)
        webhook.close_connections()
        found += _compared(things, webhook, Step("GET", f"{V2}/a"))[0]
    webhook.present(other.issue("known"))
    webhook.close_connections()
    config = {"clientConfig": {"caBundle": base64.b64encode(other.cert.read_bytes()).decode()}}
    for side in (things.reference, things.ours):
        side.raw(Step("PATCH", ONE, {"spec": {"conversion": {"webhook": config}}}))
    found += things.differences(Step("GET", f"{V2}/a", retry=True, until='"apiVersion": "conversion.example.com/v2"'))

    assert_none(found)
