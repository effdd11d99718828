"""Import of objects from another server's store."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest

from apiext.api.authorization.authorizer import ALLOWED, Verdict
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.host_annotations import FROZEN, HOST_UID, IMPORTING, PHASE, SERVING
from apiext.base.meta.request import RequestInfo, UserInfo
from tests.support.builders.crds import widget_crd
from tests.support.conversion_webhook import ConversionWebhook, converting
from tests.support.servers.in_process import CRDS, Answer, InProcess

NAME: Final = "widgets.example.com"
PATH: Final = f"/apiext/import/{NAME}"
BASE: Final = "/apis/example.com/v1/namespaces/default/widgets"
KEYS: Final = "/registry/example.com/widgets/"
LIMIT: Final = 3 * 1024 * 1024


def mirror(phase: str = IMPORTING, **spec: Any) -> dict[str, Any]:
    """Return a mirror with two versions, of which v1 is stored."""
    crd = widget_crd(served=("v1", "v2"), **spec)
    crd["metadata"]["annotations"] = {HOST_UID: "u", PHASE: phase}
    return crd


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    """Yield a server with a mirror in phase Importing."""
    async with InProcess() as running:
        await running.define(mirror())
        yield running


async def set_phase(server: InProcess, phase: str) -> None:
    """Set the phase of the mirror."""
    patch = {"metadata": {"annotations": {PHASE: phase}}}
    answer = await server.ask("PATCH", f"{CRDS}/{NAME}", patch, Content_Type="application/merge-patch+json")
    assert answer.status == 200, answer.body


def widget(name: str, *, namespace: str = "default", version: str = "v1", **more: Any) -> dict[str, Any]:
    """Return a widget as a host may have stored it, with fields that clients cannot write."""
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": "77", "generation": 3}
    metadata["creationTimestamp"] = "2020-01-02T03:04:05Z"
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": metadata, **more}


async def send(server: InProcess, *lines: Any, name: str = NAME) -> Answer:
    """Send an import; values other than text and bytes are sent as JSON."""
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return await server.ask("POST", f"/apiext/import/{name}", b"\n".join(texts), Content_Type="application/x-ndjson")


def counts(**counts: int) -> dict[str, int]:
    """Return the response body of an import with the given outcomes."""
    return {"created": 0, "updated": 0, "unchanged": 0, "deleted": 0} | counts


async def stored(server: InProcess) -> dict[str, bytes]:
    """Return the stored objects."""
    return {pair.key.removeprefix(KEYS): pair.value for pair in (await server.backend.list(KEYS)).items}


async def test_stores_objects_unchanged(server: InProcess) -> None:
    """Store all metadata, the status and unknown fields; set the resourceVersion and sort the keys."""
    given = widget("a", unknown={"z": 1, "b": None}, status={"replicas": 3, "odd": 1.0}, spec={"size": 7})
    given["metadata"] |= {
        "deletionTimestamp": "2021-01-02T03:04:05Z",
        "deletionGracePeriodSeconds": 0,
        "finalizers": ["example.com/x"],
        "managedFields": [{"manager": "m", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}],
        "selfLink": "/x",
    }
    answer = await send(server, given)

    assert (answer.status, answer.headers["Content-Type"], answer.json) == (200, "application/json", counts(created=1))
    assert answer.body == b'{"created":1,"updated":0,"unchanged":0,"deleted":0}\n'
    kept = {**given, "metadata": {key: item for key, item in given["metadata"].items() if key not in ("resourceVersion", "selfLink")}}
    assert await stored(server) == {"default/a": json_codec.dumps(kept) + b"\n"}
    read = (await server.ask("GET", f"{BASE}/a")).json
    assert (read["metadata"]["uid"], read["metadata"]["generation"]) == ("uid-a", 3)
    assert read["metadata"]["resourceVersion"] != "77"


async def test_keeps_managed_fields_byte_for_byte(server: InProcess) -> None:
    """Keep entries in an order, with times and about versions that the server itself would not write."""
    entries = [
        {"manager": "z", "operation": "Update", "apiVersion": "example.com/v0", "time": "2022-01-01T00:00:00Z", "fieldsType": "FieldsV1"},
        {
            "manager": "a",
            "operation": "Apply",
            "apiVersion": "example.com/v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {".": {}, 'k:{"port":80}': {".": {}, "f:port": {}}, 'k:{"port":9}': {}, 'v:"<&>"': {}, "i:0": {}}},
            "subresource": "status",
        },
        {"manager": "a", "operation": "Apply", "apiVersion": "example.com/v2", "fieldsType": "FieldsV1", "fieldsV1": {"x:odd": 1}},
    ]
    given = widget("a")
    given["metadata"]["managedFields"] = entries
    await send(server, given)
    (value,) = (await stored(server)).values()

    assert b'"managedFields":%b,' % json_codec.dumps(entries) in value


async def test_replaces_different_objects_only(server: InProcess) -> None:
    """Write nothing for an equal object; replace a different one."""
    lines = [widget("a"), widget("b"), widget("c", namespace="other")]
    await send(server, *lines)
    revision = await server.backend.revision()
    again = await send(server, *lines)
    assert (again.json, await server.backend.revision()) == (counts(unchanged=3), revision)

    changed = await send(server, lines[0], widget("b", spec={"size": "l"}), {"delete": {"namespace": "other", "name": "c"}})
    gone = await send(server, {"delete": {"namespace": "other", "name": "c"}})

    assert changed.json == counts(unchanged=1, updated=1, deleted=1)
    assert gone.json == counts()
    assert sorted(await stored(server)) == ["default/a", "default/b"]


async def test_replaces_corrupt_objects(server: InProcess) -> None:
    """Replace a stored object that cannot be decoded."""
    await server.backend.create(f"{KEYS}default/a", b"\xff")

    assert (await send(server, widget("a"))).json == counts(updated=1)
    assert (await server.ask("GET", f"{BASE}/a")).status == 200


async def test_converts_to_the_storage_version(server: InProcess) -> None:
    """Store an object of another version in the storage version, without unknown fields."""
    await send(server, widget("a", version="v2", spec={"size": "l"}, unknown=1))
    (value,) = (await stored(server)).values()
    obj = json_codec.loads(value)

    assert (obj["apiVersion"], obj["spec"]) == ("example.com/v1", {"size": "l"})
    assert "unknown" not in obj
    assert obj["metadata"]["uid"] == "uid-a"


@pytest.mark.parametrize("padding", ["", "x" * 100_000], ids=["inline", "in a worker"])
async def test_converts_by_a_webhook(webhook: ConversionWebhook, padding: str) -> None:
    """Convert an object of another version by the definition's webhook, and keep its metadata; do not call it for other objects."""
    managed = [{"manager": "m", "operation": "Update", "apiVersion": "example.com/v2", "fieldsType": "FieldsV1", "fieldsV1": {}}]
    given = widget("a", version="v2", spec={"count": 7}, status={"text": padding})
    given["metadata"] |= {"managedFields": managed, "finalizers": ["example.com/x"]}

    def rename(obj: dict[str, Any], _version: str) -> None:
        obj["spec"] = {"replicas": obj["spec"]["count"]}

    webhook.answer = converting(rename)
    async with InProcess() as server:
        crd = mirror(conversion=webhook.conversion())
        for version in crd["spec"]["versions"]:
            version["schema"]["openAPIV3Schema"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        await server.define(crd)
        answer = await send(server, given, widget("b", spec={"replicas": 1}))
        found = {key: json.loads(value) for key, value in (await stored(server)).items()}
    assert (answer.status, answer.json) == (200, counts(created=2))
    assert [call.names for call in webhook.calls] == [["a"]]

    expected = given | {"apiVersion": "example.com/v1", "spec": {"replicas": 7}}
    del expected["metadata"]["resourceVersion"]
    assert found["default/a"] == expected
    assert found["default/b"]["spec"] == {"replicas": 1}


async def test_last_line_of_an_object_wins(server: InProcess) -> None:
    """Apply lines about one object in their order, although lines are written concurrently."""
    lines = [widget("a", spec={"replicas": number}) for number in range(5)]
    answer = await send(server, *lines, {"delete": {"namespace": "default", "name": "a"}}, widget("a", spec={"replicas": 9}))

    assert answer.json == counts(created=2, updated=4, deleted=1)
    assert json_codec.loads((await stored(server))["default/a"])["spec"] == {"replicas": 9}


async def test_watches_receive_imports(server: InProcess) -> None:
    """Send imported objects to caches and watches."""
    revision = (await server.ask("GET", BASE)).json["metadata"]["resourceVersion"]
    async with server.session.get(server.url(f"{BASE}?watch=1&timeoutSeconds=60&resourceVersion={revision}")) as stream:
        await send(server, widget("a"))
        await send(server, {"delete": {"namespace": "default", "name": "a"}})
        events = [json_codec.loads(await asyncio.wait_for(stream.content.readline(), 30)) for _ in range(2)]

    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [("ADDED", "a"), ("DELETED", "a")]


async def test_cluster_scope() -> None:
    """Import cluster-scoped objects without a namespace."""
    async with InProcess() as server:
        await server.define(mirror(scope="Cluster"))
        one = widget("a")
        del one["metadata"]["namespace"]
        created = await send(server, one)
        wrong = await send(server, widget("b"))
        deleted = await send(server, {"delete": {"name": "a"}})

    assert (created.json, deleted.json) == (counts(created=1), counts(deleted=1))
    assert wrong.message == "line 1: metadata.namespace is set, but widgets.example.com is cluster-scoped"


@pytest.mark.parametrize(
    "line, words",
    [
        (b"{", "line 3: unexpected end of data: line 1 column 2 (char 1)"),
        (b"[]", "line 3: is not an object"),
        (b"{}", "line 3: is a nothing of nothing, expected a Widget of example.com/v1 or example.com/v2"),
        (
            widget("a") | {"kind": "Gadget"},
            "line 3: is a Gadget of example.com/v1, expected a Widget of example.com/v1 or example.com/v2",
        ),
        (widget("a", version="v3"), "line 3: is a Widget of example.com/v3, expected a Widget of example.com/v1 or example.com/v2"),
        (widget("a") | {"metadata": None}, "line 3: metadata is not an object"),
        (widget(""), "line 3: metadata.name is missing or not a string"),
        (widget("a", namespace=""), "line 3: metadata.namespace is missing or not a string"),
        (widget("../../x"), "line 3: metadata.name may not contain '/'"),
        (widget("a", namespace=".."), "line 3: metadata.namespace may not be '..'"),
        ({"delete": None}, "line 3: delete is not an object"),
        ({"delete": {"name": "a"}}, "line 3: delete.namespace is missing or not a string"),
        (widget("a", version="v2") | {"metadata": {"name": "a", "namespace": "b", "uid": 5}}, "line 3: "),
    ],
)
async def test_rejects_invalid_lines(server: InProcess, line: Any, words: str) -> None:
    """Return 400 with the number of an invalid line; apply the lines before it, and none after it."""
    answer = await send(server, widget("before"), b"", line, widget("after"))

    assert (answer.status, answer.json["reason"]) == (400, "BadRequest")
    assert answer.message.startswith(words)
    assert list(await stored(server)) == ["default/before"]


async def test_limits_lines_instead_of_bodies(server: InProcess) -> None:
    """Accept a body above the limit of requests; reject a line above it."""
    big = [widget(f"w{number}", spec={"any": {"text": "x" * 1_500_000}}) for number in range(4)]
    over = widget("over", spec={"any": {"text": "x" * LIMIT}})
    fine = await send(server, *big)
    answer = await send(server, widget("before"), over, widget("after"))

    assert fine.json == counts(created=4)
    assert (answer.status, answer.message) == (413, f"Request entity too large: line 2: limit is {LIMIT}")
    assert {"default/before", "default/after", "default/over"} & set(await stored(server)) == {"default/before"}


async def test_reads_lines_from_chunks(server: InProcess) -> None:
    """Read lines from chunks of any size, with blank lines and both line endings."""
    lines = [json.dumps(widget(f"w{number}")).encode() for number in range(600)]
    text = b"\r\n\n  \n".join(lines)

    async def body() -> AsyncIterator[bytes]:
        for start in range(0, len(text), 1111):
            yield text[start : start + 1111]

    async with server.session.post(server.url(PATH), data=body()) as answer:
        assert await answer.json() == counts(created=600)
    assert len(await stored(server)) == 600
    assert (await send(server)).json == counts()


# --- when, and by whom ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", [SERVING, FROZEN])
async def test_rejects_other_phases(server: InProcess, phase: str) -> None:
    """Return 409 in phases other than Importing."""
    await set_phase(server, phase)
    answer = await send(server, widget("a"))

    why = f"its phase is {phase}, and objects are imported in phase Importing"
    assert (answer.status, answer.json["reason"]) == (409, "Conflict")
    assert answer.message == f'Operation cannot be fulfilled on customresourcedefinitions.apiextensions.k8s.io "{NAME}": {why}'
    assert await stored(server) == {}


async def test_rejects_definitions_that_are_not_mirrors(server: InProcess) -> None:
    """Reject imports for a missing definition, one that is not a mirror, and other paths."""
    await server.define(widget_crd("gadgets", "Gadget"))
    plain = await send(server, name="gadgets.example.com")
    missing = await send(server, name="none.example.com")

    assert (plain.status, "it is not a mirror of another server's definition" in plain.message) == (409, True)
    assert (missing.status, missing.message) == (404, 'customresourcedefinitions.apiextensions.k8s.io "none.example.com" not found')
    assert (await server.ask("GET", PATH)).status == 405
    assert (await server.ask("POST", f"{PATH}/x")).status == (await server.ask("POST", "/apiext/import/")).status == 404


async def test_stops_when_the_phase_changes(server: InProcess) -> None:
    """Write no line after the mirror enters another phase during an import."""
    begun, going_on = asyncio.Event(), asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        for number in range(200):
            yield json.dumps(widget(f"w{number:03}")).encode() + b"\n"
        begun.set()
        await going_on.wait()
        for number in range(200, 210):
            yield json.dumps(widget(f"w{number:03}")).encode() + b"\n"

    posting = asyncio.create_task(server.session.post(server.url(PATH), data=body()))
    await begun.wait()
    await set_phase(server, SERVING)
    going_on.set()
    async with await posting as answer:
        assert answer.status == 409
    assert not {f"default/w{number:03}" for number in range(200, 210)} & set(await stored(server))


async def test_requires_permission_for_the_path() -> None:
    """Authorize an import by its path instead of the resource."""

    async def noting(user: UserInfo, info: RequestInfo) -> Verdict:
        asked.append((user.name, info.verb, info.path, info.is_resource, info.long_running))
        return ALLOWED

    asked: list[Any] = []
    async with InProcess(authorize=noting) as server:
        await send(server)

    assert asked == [("admin", "post", PATH, False, True)]
