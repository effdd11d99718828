"""Watches in a version whose objects the conversion webhook cannot convert."""

import http
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Side, Step
from hack.lib.waiting import until
from tests.differential.helpers.differences import compared
from tests.support.builders.crds import crd, version
from tests.support.conversion_webhook import Call, ConversionWebhook, Json, Reply, conversion_webhook, converting, failing

pytestmark = pytest.mark.slow

GROUP: Final = "watches.probe.example.com"
V1: Final = f"/apis/{GROUP}/v1/namespaces/default/things"
V2: Final = V1.replace("/v1/", "/v2/")
ONE: Final = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{GROUP}"
_JSON_PATCH: Final = {"Content-Type": "application/json-patch+json"}
_REVISION: Final = re.compile(r"revision=\d+")
_INITIAL: Final = "resourceVersionMatch=NotOlderThan&sendInitialEvents=true&allowWatchBookmarks=true"
BEGINNINGS: Final = {
    "latest": "",
    "any": "resourceVersion=0",
    "revision": f"resourceVersion={{rv:{V1}/a}}",
    "initial events": _INITIAL,
    "initial events of a revision": f"{_INITIAL}&resourceVersion={{rv:{V1}/a}}",
    "no initial events": _INITIAL.replace("=true&allow", "=false&allow"),
    "one object": "fieldSelector=metadata.name%3Db",
}


@pytest.fixture(scope="module")
def webhook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConversionWebhook]:
    """Run a webhook."""
    with conversion_webhook(tmp_path_factory.mktemp("webhook")) as running:
        yield running


@pytest.fixture(scope="module")
def things(pair: Pair, webhook: ConversionWebhook) -> Iterator[Pair]:
    """Serve a definition of two versions, with two objects."""
    versions = [version(name, storage=name == "v1", schema={"type": "object"}) for name in ("v1", "v2")]
    with pair.served(crd("things", *versions, kind="Thing", group=GROUP, conversion=webhook.conversion())):
        compared(pair, [Step("POST", V1, {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": name}}) for name in "ab"])
        yield pair
        webhook.answer = converting()


def _renewed(pair: Pair, text: str) -> None:
    """Change the schemas: the reference then makes new caches of all versions."""
    patch = [{"op": "add", "path": f"/spec/versions/{number}/schema/openAPIV3Schema/description", "value": text} for number in (0, 1)]
    compared(pair, [Step("PATCH", ONE, patch, _JSON_PATCH), Step("GET", f"{V1}/a")])


def _watched(side: Side, query: str) -> tuple[int, str | None, Any]:
    """Return the answer to a watch: status, Retry-After, and a Status without its revision or the events."""
    step = side.resolved(Step("GET", f"{V2}?watch=true&timeoutSeconds=1&{query}"))
    response, data = side.raw(step)
    if response.status == http.HTTPStatus.OK:
        events = [json.loads(line) for line in data.splitlines()]
        return response.status, None, [(event["type"], event["object"]["metadata"].get("name")) for event in events]
    body = json.loads(data)
    return response.status, response.getheader("Retry-After"), body | {"message": _REVISION.sub("revision=*", body["message"])}


def _refused(side: Side, query: str) -> tuple[int, str | None, Any]:
    """Return the refusal of a watch, once the reference tells why it cannot fill its cache."""
    answers: list[tuple[int, str | None, Any]] = []

    def tells() -> bool:
        answers.append(_watched(side, query))
        return "failed to list" in json.dumps(answers[-1])

    until(tells, "the refusal of a watch")
    return answers[-1]


def _refuse_b(call: Call) -> Reply | Json:
    return failing("b is odd")(call) if "b" in call.names else converting()(call)


@pytest.mark.parametrize("names", ["all", "b"])
def test_refusals(things: Pair, webhook: ConversionWebhook, names: str) -> None:
    """Refuse watches with 429 wherever they begin, while all objects or one of them cannot be converted; serve them again afterwards."""
    webhook.answer = failing("nope") if names == "all" else _refuse_b
    _renewed(things, names)
    for name, query in BEGINNINGS.items():
        if (names, name) != ("all", "one object"):
            theirs, ours = things.at_once(lambda side, query=query: _refused(side, query))  # type: ignore[misc]
            assert (name, ours) == (name, theirs)
            assert ours[:2] == (http.HTTPStatus.TOO_MANY_REQUESTS, "1")

    webhook.answer = converting()
    for side in (things.reference, things.ours):
        until(lambda side=side: _watched(side, "resourceVersion=0")[0] == http.HTTPStatus.OK, "a watch")  # type: ignore[misc]
    for name in ("any", "latest", "initial events"):
        theirs, ours = things.at_once(lambda side, query=BEGINNINGS[name]: _watched(side, query))  # type: ignore[misc]
        assert (name, ours) == (name, theirs)
