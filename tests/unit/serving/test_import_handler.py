"""Objects of another server's store, put into this one as they are."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest

from apiext.authorization.authorizer import PrivilegedGroup, Verdict
from apiext.meta import json_codec
from apiext.meta.host_annotations import FROZEN, HOST_UID, IMPORTING, PHASE, SERVING
from apiext.meta.request import RequestInfo, UserInfo
from tests.support.servers.in_process import CRDS, Answer, InProcess, definition, versions

NAME: Final = "widgets.example.com"
PATH: Final = f"/apiext/import/{NAME}"
BASE: Final = "/apis/example.com/v1/namespaces/default/widgets"
KEYS: Final = "/registry/example.com/widgets/"
LIMIT: Final = 3 * 1024 * 1024


def mirror(phase: str = IMPORTING, **spec: Any) -> dict[str, Any]:
    """A mirror with two versions, v1 being stored."""
    crd = definition(**spec)
    crd["metadata"]["annotations"] = {HOST_UID: "u", PHASE: phase}
    crd["spec"]["versions"] = versions("v1", "v2")(crd["spec"]["versions"][0])
    return crd


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    """A server with a mirror that objects are imported for."""
    async with InProcess() as running:
        await running.define(mirror())
        yield running


async def turn(server: InProcess, phase: str) -> None:
    """Have the mirror be in another phase."""
    patch = {"metadata": {"annotations": {PHASE: phase}}}
    answer = await server.ask("PATCH", f"{CRDS}/{NAME}", patch, Content_Type="application/merge-patch+json")
    assert answer.status == 200, answer.body


def widget(name: str, *, namespace: str = "default", version: str = "v1", **more: Any) -> dict[str, Any]:
    """A widget as a host may have it: with what no client could write."""
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": "77", "generation": 3}
    metadata["creationTimestamp"] = "2020-01-02T03:04:05Z"
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": metadata, **more}


async def send(server: InProcess, *lines: Any, name: str = NAME) -> Answer:
    """The answer to an import; what is no text or bytes is sent as JSON."""
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return await server.ask("POST", f"/apiext/import/{name}", b"\n".join(texts), Content_Type="application/x-ndjson")


def done(**counts: int) -> dict[str, int]:
    """What an import answers."""
    return {"created": 0, "updated": 0, "unchanged": 0, "deleted": 0} | counts


async def stored(server: InProcess) -> dict[str, bytes]:
    """What is in the store."""
    return {pair.key.removeprefix(KEYS): pair.value for pair in (await server.backend.list(KEYS)).items}


async def test_objects_are_stored_as_they_are(server: InProcess) -> None:
    """All metadata, the status and unknown members are kept; the resourceVersion is the store's own, keys are sorted."""
    given = widget("a", unknown={"z": 1, "b": None}, status={"replicas": 3, "odd": 1.0}, spec={"size": 7})
    given["metadata"] |= {
        "deletionTimestamp": "2021-01-02T03:04:05Z",
        "deletionGracePeriodSeconds": 0,
        "finalizers": ["example.com/x"],
        "managedFields": [{"manager": "m", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}],
        "selfLink": "/x",
    }
    answer = await send(server, given)

    assert (answer.status, answer.headers["Content-Type"], answer.json) == (200, "application/json", done(created=1))
    assert answer.body == b'{"created":1,"updated":0,"unchanged":0,"deleted":0}\n'
    kept = {**given, "metadata": {key: item for key, item in given["metadata"].items() if key not in ("resourceVersion", "selfLink")}}
    assert await stored(server) == {"default/a": json_codec.dumps(kept) + b"\n"}
    read = (await server.ask("GET", f"{BASE}/a")).json
    assert (read["metadata"]["uid"], read["metadata"]["generation"]) == ("uid-a", 3)
    assert read["metadata"]["resourceVersion"] != "77"


async def test_what_is_there_already(server: InProcess) -> None:
    """To say the same again changes nothing; another state replaces the stored one, whatever it is."""
    lines = [widget("a"), widget("b"), widget("c", namespace="other")]
    await send(server, *lines)
    revision = await server.backend.revision()
    again = await send(server, *lines)
    assert (again.json, await server.backend.revision()) == (done(unchanged=3), revision)

    changed = await send(server, lines[0], widget("b", spec={"size": "l"}), {"delete": {"namespace": "other", "name": "c"}})
    gone = await send(server, {"delete": {"namespace": "other", "name": "c"}})

    assert changed.json == done(unchanged=1, updated=1, deleted=1)
    assert gone.json == done()
    assert sorted(await stored(server)) == ["default/a", "default/b"]


async def test_broken_values_are_replaced(server: InProcess) -> None:
    """What is stored and cannot be read is replaced like anything else."""
    await server.backend.create(f"{KEYS}default/a", b"\xff")

    assert (await send(server, widget("a"))).json == done(updated=1)
    assert (await server.ask("GET", f"{BASE}/a")).status == 200


async def test_versions_are_converted(server: InProcess) -> None:
    """An object of another version is stored as the other server would store it: in the storage version, without unknown fields."""
    await send(server, widget("a", version="v2", spec={"size": "l"}, unknown=1))
    (value,) = (await stored(server)).values()
    obj = json_codec.loads(value)

    assert (obj["apiVersion"], obj["spec"]) == ("example.com/v1", {"size": "l"})
    assert "unknown" not in obj
    assert obj["metadata"]["uid"] == "uid-a"


async def test_the_last_line_about_an_object_counts(server: InProcess) -> None:
    """Lines about one object are done in their order, though lines are done together."""
    lines = [widget("a", spec={"replicas": number}) for number in range(5)]
    answer = await send(server, *lines, {"delete": {"namespace": "default", "name": "a"}}, widget("a", spec={"replicas": 9}))

    assert answer.json == done(created=2, updated=4, deleted=1)
    assert json_codec.loads((await stored(server))["default/a"])["spec"] == {"replicas": 9}


async def test_watchers_see_what_is_imported(server: InProcess) -> None:
    """Imported objects come to the caches and to those who watch, as any others."""
    revision = (await server.ask("GET", BASE)).json["metadata"]["resourceVersion"]
    async with server.session.get(server.url(f"{BASE}?watch=1&timeoutSeconds=60&resourceVersion={revision}")) as stream:
        await send(server, widget("a"))
        await send(server, {"delete": {"namespace": "default", "name": "a"}})
        events = [json_codec.loads(await asyncio.wait_for(stream.content.readline(), 30)) for _ in range(2)]

    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [("ADDED", "a"), ("DELETED", "a")]


async def test_cluster_scope() -> None:
    """What is in no namespace is named without one."""
    async with InProcess() as server:
        await server.define(mirror(scope="Cluster"))
        one = widget("a")
        del one["metadata"]["namespace"]
        created = await send(server, one)
        wrong = await send(server, widget("b"))
        deleted = await send(server, {"delete": {"name": "a"}})

    assert (created.json, deleted.json) == (done(created=1), done(deleted=1))
    assert wrong.message == "line 1: metadata.namespace is set, and widgets.example.com is not in namespaces"


@pytest.mark.parametrize(
    "line, words",
    [
        (b"{", "line 3: unexpected end of data: line 1 column 2 (char 1)"),
        (b"[]", "line 3: it is no object"),
        (b"{}", "line 3: it is a nothing of nothing, and not a Widget of example.com/v1 or example.com/v2"),
        (
            widget("a") | {"kind": "Gadget"},
            "line 3: it is a Gadget of example.com/v1, and not a Widget of example.com/v1 or example.com/v2",
        ),
        (widget("a", version="v3"), "line 3: it is a Widget of example.com/v3, and not a Widget of example.com/v1 or example.com/v2"),
        (widget("a") | {"metadata": None}, "line 3: metadata is no object"),
        (widget(""), "line 3: metadata.name is missing, or no text"),
        (widget("a", namespace=""), "line 3: metadata.namespace is missing, or no text"),
        (widget("../../x"), "line 3: metadata.name may not contain '/'"),
        (widget("a", namespace=".."), "line 3: metadata.namespace may not be '..'"),
        ({"delete": None}, "line 3: delete is no object"),
        ({"delete": {"name": "a"}}, "line 3: delete.namespace is missing, or no text"),
        (widget("a", version="v2") | {"metadata": {"name": "a", "namespace": "b", "uid": 5}}, "line 3: "),
    ],
)
async def test_bad_lines(server: InProcess, line: Any, words: str) -> None:
    """A line that says nothing is 400 and named; what comes before it is done, and nothing after it."""
    answer = await send(server, widget("before"), b"", line, widget("after"))

    assert (answer.status, answer.json["reason"]) == (400, "BadRequest")
    assert answer.message.startswith(words)
    assert list(await stored(server)) == ["default/before"]


async def test_the_limit_is_for_a_line(server: InProcess) -> None:
    """A body may be larger than what a request may be otherwise, a line may not."""
    big = [widget(f"w{number}", spec={"any": {"text": "x" * 1_500_000}}) for number in range(4)]
    over = widget("over", spec={"any": {"text": "x" * LIMIT}})
    fine = await send(server, *big)
    answer = await send(server, widget("before"), over, widget("after"))

    assert fine.json == done(created=4)
    assert (answer.status, answer.message) == (413, f"Request entity too large: line 2: limit is {LIMIT}")
    assert {"default/before", "default/after", "default/over"} & set(await stored(server)) == {"default/before"}


async def test_lines_come_as_they_may(server: InProcess) -> None:
    """A body is taken in pieces of any size, with blank lines and ends of either kind, and may be large."""
    lines = [json.dumps(widget(f"w{number}")).encode() for number in range(600)]
    text = b"\r\n\n  \n".join(lines)

    async def body() -> AsyncIterator[bytes]:
        for start in range(0, len(text), 1111):
            yield text[start : start + 1111]

    async with server.session.post(server.url(PATH), data=body()) as answer:
        assert await answer.json() == done(created=600)
    assert len(await stored(server)) == 600
    assert (await send(server)).json == done()


# --- when, and by whom ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", [SERVING, FROZEN])
async def test_other_phases(server: InProcess, phase: str) -> None:
    """Objects are imported in phase Importing and in no other: 409."""
    await turn(server, phase)
    answer = await send(server, widget("a"))

    why = f"its phase is {phase}, and objects are imported in phase Importing"
    assert (answer.status, answer.json["reason"]) == (409, "Conflict")
    assert answer.message == f'Operation cannot be fulfilled on customresourcedefinitions.apiextensions.k8s.io "{NAME}": {why}'
    assert await stored(server) == {}


async def test_definitions_that_take_no_objects(server: InProcess) -> None:
    """A definition that is no mirror, or is not there, or a path that is not one, takes no objects."""
    await server.define(definition("gadgets", "Gadget"))
    plain = await send(server, name="gadgets.example.com")
    missing = await send(server, name="none.example.com")

    assert (plain.status, "it is not the copy of another server's definition" in plain.message) == (409, True)
    assert (missing.status, missing.message) == (404, 'customresourcedefinitions.apiextensions.k8s.io "none.example.com" not found')
    assert (await server.ask("GET", PATH)).status == 405
    assert (await server.ask("POST", f"{PATH}/x")).status == (await server.ask("POST", "/apiext/import/")).status == 404


async def test_a_phase_that_ends_while_objects_come(server: InProcess) -> None:
    """When the mirror goes on to another phase in the middle of an import, what has not been written by then never is."""
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
    await turn(server, SERVING)
    going_on.set()
    async with await posting as answer:
        assert answer.status == 409
    assert not {f"default/w{number:03}" for number in range(200, 210)} & set(await stored(server))


async def test_importing_is_a_right_of_its_own() -> None:
    """Who imports must be allowed the path, not the resource."""

    class Noting(PrivilegedGroup):
        def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
            asked.append((user.name, info.verb, info.path, info.is_resource, info.long_running))
            return super().authorize(user, info)

    asked: list[Any] = []
    async with InProcess(authorizer=Noting()) as server:
        await send(server)

    assert asked == [("admin", "post", PATH, False, True)]
