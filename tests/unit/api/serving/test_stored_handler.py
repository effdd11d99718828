"""What is stored, asked at the paths below /stored/."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiext.api.authorization.authorizer import ALLOWED, NO_OPINION, Verdict
from apiext.api.serving import stored_documents
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.storage.value.encryption import Encryption
from tests.contract.encryption import KEY, configuration
from tests.support.builders.crds import crd, version, widget
from tests.support.conversion_webhook import BREAK, ConversionWebhook, converting
from tests.support.servers.in_process import CRDS, InProcess

NAME = "widgets.example.com"
BASE = "/apis/example.com/v1/namespaces/default/widgets"
PREFIX = "/registry/example.com/widgets/default/"
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"size": {"type": "string", "maxLength": 3}},
            "x-kubernetes-validations": [{"rule": "self.size != 'odd'", "message": "is odd"}],
        }
    },
}


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    """Yield a server with widgets of two stored versions, some of which today's schema refuses, and some that are damaged."""
    async with InProcess() as running:
        await running.define(crd("widgets", version("v1", storage=True), version("v2")))
        for name, size in (("a", "m"), ("b", "large"), ("c", "odd")):
            assert (await running.ask("POST", BASE, widget(name, size=size))).status == 201
        found = (await running.ask("GET", f"{CRDS}/{NAME}")).json
        new = [version("v1", schema=SCHEMA, deprecated=True), version("v2", storage=True, schema=SCHEMA)]
        found["spec"]["versions"] = new
        assert (await running.ask("PUT", f"{CRDS}/{NAME}", found)).status == 200
        assert (await running.ask("POST", BASE, widget("d", size="s"))).status == 201
        await running.backend.create(f"{PREFIX}x", b"k8s:enc:aesgcm:v1:key:\x00")
        await running.backend.create(f"{PREFIX}y", b'{"apiVersion":"example.com/v0","kind":"Widget","metadata":{}}')
        yield running


async def test_reports_versions(server: InProcess) -> None:
    """Report each version with the number of objects, also one that the definition does not have."""
    await server.define(crd("gadgets", kind="Gadget"))
    answer = await server.ask("GET", f"/stored/versions/{NAME}")
    rows = {row["name"]: row for row in answer.json["versions"]}

    assert (answer.status, answer.json["name"], answer.json["objects"], answer.json["unknown"]) == (200, NAME, 6, 1)
    assert list(rows) == ["v1", "v2", "v0"]
    assert rows["v1"] == {"name": "v1", "served": True, "storage": False, "deprecated": True, "stored": True, "objects": 3}
    assert rows["v2"] == {"name": "v2", "served": True, "storage": True, "deprecated": False, "stored": True, "objects": 1}
    assert rows["v0"] == {"name": "v0", "served": False, "storage": False, "deprecated": False, "stored": False, "objects": 1}
    everything = (await server.ask("GET", "/stored/versions")).json
    assert [item["name"] for item in everything["items"]] == ["gadgets.example.com", NAME]
    assert everything["items"][1]["versions"] == answer.json["versions"]
    assert everything["continue"] == ""
    first = (await server.ask("GET", "/stored/versions?limit=1")).json
    second = (await server.ask("GET", f"/stored/versions?limit=1&continue={first['continue']}")).json
    assert [*first["items"], *second["items"]] == everything["items"]
    assert second["continue"] == ""


@pytest.mark.parametrize("limit", [1, 4, 1000])
async def test_finds_invalid_objects(server: InProcess, limit: int) -> None:
    """Find objects that a create would refuse today, rules included, and those that cannot be decoded, in pages of any size."""
    items: list[Any] = []
    checked, after = 0, ""
    while True:
        page = (await server.ask("GET", f"/stored/invalid/{NAME}?limit={limit}&continue={after}")).json
        items, checked, after = items + page["items"], checked + page["checked"], page["continue"]
        if not after:
            break

    assert checked == 6
    assert [(item["key"], item["apiVersion"], item["state"]) for item in items] == [
        ("default/b", "example.com/v1", "invalid"),
        ("default/c", "example.com/v1", "invalid"),
        ("default/x", "", "undecodable"),
        ("default/y", "example.com/v0", "undecodable"),
    ]
    assert "spec.size: Too long: may not be more than 3 bytes" in items[0]["message"]
    assert "is odd" in items[1]["message"]
    assert items[3]["message"] == "request to convert CR from an invalid group/version: example.com/v0"


@pytest.mark.parametrize(
    "encryption, problem",
    [
        (None, "identity transformer tried to read encrypted data"),
        (Encryption(configuration(KEY)), "no matching key was found for the provided AES transformer"),
    ],
    ids=["plain", "encrypted"],
)
async def test_tells_why_objects_are_not_decrypted(encryption: Encryption | None, problem: str) -> None:
    """Report objects whose key is not there with the reason, as the rescue does."""
    async with InProcess(encryption=encryption) as running:
        await running.define(crd("widgets", version("v1", storage=True)))
        await running.backend.create(f"{PREFIX}a", b"k8s:enc:aesgcm:v1:lost:" + bytes(40))
        (found,) = (await running.ask("GET", f"/stored/invalid/{NAME}")).json["items"]

    message = f"data from the storage is not transformable revision=0: {problem}"
    assert found == {"key": "default/a", "apiVersion": "", "state": "undecodable", "message": message}


async def test_validates_large_objects(server: InProcess) -> None:
    """Validate objects that are together larger than a job, and report them in order."""
    for number in range(4):
        obj = widget(f"large-{number}", size="large", text="x" * 600_000)
        obj["metadata"]["namespace"] = "default"
        await server.backend.create(f"{PREFIX}large-{number}", json_codec.dumps(obj))
    page = (await server.ask("GET", f"/stored/invalid/{NAME}?continue=default/d")).json

    assert [item["key"] for item in page["items"]][:4] == [f"default/large-{number}" for number in range(4)]
    assert page["checked"] == 6


async def test_shows_stored_bytes(server: InProcess) -> None:
    """Return the bytes of an object as they are stored, and what is known without decoding them."""
    stored = {pair.key: pair for pair in (await server.backend.list(PREFIX)).items}
    one = (await server.ask("GET", f"/stored/objects/{NAME}/default/a")).json
    pair = stored[f"{PREFIX}a"]

    assert base64.b64decode(one.pop("data")) == pair.value
    about = {"key": "default/a", "apiVersion": "example.com/v1", "resourceVersion": str(pair.revision), "encoding": "json"}
    assert one == about | {"size": len(pair.value)}
    encrypted = (await server.ask("GET", f"/stored/objects/{NAME}/default/x")).json
    assert (encrypted["encoding"], encrypted["apiVersion"], encrypted["size"]) == ("encrypted", "", 23)
    listed = (await server.ask("GET", f"/stored/objects/{NAME}?limit=2")).json
    assert (listed["items"][0], len(listed["items"]), listed["continue"]) == (one, 2, "default/b")
    rest = (await server.ask("GET", f"/stored/objects/{NAME}?continue=default/b")).json
    assert [item["key"] for item in rest["items"]] == ["default/c", "default/d", "default/x", "default/y"]


async def test_pages_are_limited_by_bytes(server: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """End a page when its objects have many bytes; the next one continues. Show the bytes of a large object."""
    monkeypatch.setattr(stored_documents, "MAX_PAGE_BYTES", 3 << 20)
    for number in range(20):
        await server.backend.create(f"{PREFIX}large-{number:02}", b"%03d" % number * 400_000)
    pages: list[list[str]] = []
    after = "default/d"
    while after:
        page = (await server.ask("GET", f"/stored/objects/{NAME}?limit=1000&continue={after}")).json
        pages.append([item["key"] for item in page["items"]])
        after = page["continue"]

    assert [key for page in pages for key in page] == [*(f"default/large-{number:02}" for number in range(20)), "default/x", "default/y"]
    assert [len(page) for page in pages] == [8, 8, 6]
    one = (await server.ask("GET", f"/stored/objects/{NAME}/default/large-07")).json
    assert base64.b64decode(one["data"]) == b"007" * 400_000


@pytest.mark.parametrize(
    "method,path,status",
    [
        ("GET", "/stored", 404),
        ("GET", "/stored/", 404),
        ("GET", "/stored/other", 404),
        ("GET", "/stored/servers", 404),
        ("GET", "/stored/invalid", 404),
        ("GET", "/stored/versions/", 404),
        ("GET", "/stored/versions/none.example.com", 404),
        ("GET", f"/stored/versions/{NAME}/default", 404),
        ("GET", f"/stored/objects/{NAME}/a", 404),
        ("GET", f"/stored/objects/{NAME}/default/none", 404),
        ("GET", f"/stored/objects/{NAME}/default/a/b", 404),
        ("POST", f"/stored/versions/{NAME}", 405),
        ("DELETE", f"/stored/objects/{NAME}/default/a", 400),
        ("PATCH", f"/stored/objects/{NAME}/default/a", 405),
        ("PUT", f"/stored/objects/{NAME}", 405),
        ("GET", f"/stored/objects/{NAME}?limit=-1", 400),
        ("GET", f"/stored/invalid/{NAME}?limit=0", 400),
        ("GET", f"/stored/versions?limit={'9' * 5000}", 400),
    ],
)
async def test_refuses(server: InProcess, method: str, path: str, status: int) -> None:
    """Answer what is not there, other methods and bad parameters with an error."""
    assert (await server.ask(method, path)).status == status


async def test_validates_what_a_webhook_converts(webhook: ConversionWebhook) -> None:
    """Convert objects of other versions to the storage version in one call, and validate the result; report what is not converted."""

    def enlarge(obj: dict[str, Any], _version: str) -> None:
        obj["spec"] = {"size": "large" if obj["metadata"]["name"] == "b" else "m"}

    webhook.answer = converting(enlarge)
    async with InProcess() as running:
        versions = [version("v1", storage=True, schema=SCHEMA), version("v2", schema=SCHEMA)]
        await running.define(crd("widgets", *versions, conversion=webhook.conversion()))
        for name in "abc":
            assert (await running.ask("POST", BASE, widget(name, size="s"))).status == 201
        found = (await running.ask("GET", f"{CRDS}/{NAME}")).json
        found["spec"]["versions"] = [version("v1", schema=SCHEMA), version("v2", storage=True, schema=SCHEMA)]
        assert (await running.ask("PUT", f"{CRDS}/{NAME}", found)).status == 200
        converted = (await running.ask("GET", f"/stored/invalid/{NAME}")).json["items"]
        calls = [call.names for call in webhook.calls]
        webhook.answer = lambda _: BREAK
        broken = await running.ask("GET", f"/stored/invalid/{NAME}")

    assert [(item["key"], item["apiVersion"], item["state"]) for item in converted] == [("default/b", "example.com/v1", "invalid")]
    assert calls == [["a", "b", "c"]]
    assert [item["state"] for item in broken.json["items"]] == ["undecodable"] * 3
    assert "conversion webhook" in broken.json["items"][0]["message"]


async def test_shows_cluster_scoped_objects() -> None:
    """Take the name of a cluster-scoped object without a namespace."""
    async with InProcess() as server:
        await server.define(crd("gadgets", kind="Gadget", scope="Cluster"))
        body = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}}
        assert (await server.ask("POST", "/apis/example.com/v1/gadgets", body)).status == 201

        assert (await server.ask("GET", "/stored/objects/gadgets.example.com/a")).json["key"] == "a"
        assert (await server.ask("GET", "/stored/objects/gadgets.example.com/default/a")).status == 404


async def test_is_authorized() -> None:
    """Authorize requests as non-resource requests."""
    asked: list[tuple[str, str, bool]] = []

    async def authorize(_user: UserInfo, info: RequestInfo) -> Verdict:
        asked.append((info.verb, info.path, info.is_resource))
        return NO_OPINION if info.path.startswith("/stored/objects") else ALLOWED

    async with InProcess(authorize=authorize) as server:
        assert (await server.ask("GET", "/stored/versions")).status == 200
        assert (await server.ask("GET", f"/stored/objects/{NAME}/default/a")).status == 403

    assert asked == [("get", "/stored/versions", False), ("get", f"/stored/objects/{NAME}/default/a", False)]
