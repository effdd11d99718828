"""Custom resources that rules convert: all verbs keep what a version cannot hold."""

import asyncio
import copy
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiext.api.serving.stored_conversions import NOT_READ, StoredConversions
from apiext.resources.conversion.known import Origin
from apiext.resources.conversion.rules.definition import conversion_definition
from apiext.resources.definitions.stored_conversions import read_conversions
from apiext.resources.stored_objects.offline import OfflineObjects
from apiext.server.composition.conversion_status import StoredStatuses
from tests.support.builders.converted_widgets import NAME, conversion, new_widget, old_widget, widgets_crd
from tests.support.event_loop import until, until_answered
from tests.support.servers.in_process import CRDS, Answer, InProcess

V1 = "/apis/example.com/v1/namespaces/default/widgets"
V2 = "/apis/example.com/v2/namespaces/default/widgets"
CONVERSIONS = "/apis/conversions.apiext.dev/v1alpha1/conversions"
CARRIED = "conversion.apiext.dev/carried"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
FULL: dict[str, Any] = {
    "capacity": 3,
    "image": "a:b",
    "zone": "z",
    "ports": [{"name": "x", "port": 1, "protocol": "TCP"}, {"name": "y", "port": 2}],
}


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    """Yield a server that converts widgets by rules."""
    async with InProcess() as running:
        running.converters.known.put(Origin.FILE, conversion())
        await running.define(widgets_crd())
        yield running


def _spec(answer: Answer) -> Any:
    assert answer.status in (200, 201), answer.body
    return answer.json["spec"]


def _carried(answer: Answer) -> str | None:
    text: str | None = answer.json["metadata"].get("annotations", {}).get(CARRIED)
    return text


async def _sent(server: InProcess, method: str, path: str, body: Any, **headers: str) -> Answer:
    answer = await server.ask(method, path, body, **headers)
    assert answer.status in (200, 201), answer.body
    return answer


async def test_reads_at_both_versions(server: InProcess) -> None:
    """Convert by the rules, carry what the old version lacks, and show no annotation at the version that lacks nothing."""
    created = await server.ask("POST", V2, new_widget(**FULL))
    old, new = await server.ask("GET", f"{V1}/a"), await server.ask("GET", f"{V2}/a")
    listed = await server.ask("GET", V1)

    assert _spec(old) == {"size": 3, "image": "a:b", "ports": [{"name": "x", "port": 1}, {"name": "y", "port": 2}]}
    assert json.loads(_carried(old) or "") == {
        "v2": [["f", ["spec", "ports", {"name": "x"}, "protocol"], "", "TCP"], ["f", ["spec", "zone"], "", "z"]]
    }
    assert (_spec(new), _carried(new), _carried(created)) == (FULL, None, None)
    assert listed.json["items"] == [old.json]


async def test_old_clients_keep_what_they_never_saw(server: InProcess) -> None:
    """Keep it when a client of the old version puts a whole object without the annotation, patches, or applies."""
    await server.ask("POST", V2, new_widget(**FULL))
    old = (await server.ask("GET", f"{V1}/a")).json
    del old["metadata"]["annotations"]
    old["spec"]["size"] = 4
    put = await _sent(server, "PUT", f"{V1}/a", old)
    patched = await _sent(server, "PATCH", f"{V1}/a", {"spec": {"image": "c:d"}}, Content_Type=MERGE)
    ports = [{"name": "y", "port": 3}, {"name": "new", "port": 4}]
    applied = await _sent(server, "PATCH", f"{V1}/a?fieldManager=m&force=true", old_widget(ports=ports), Content_Type=APPLY)

    assert _carried(put) == _carried(patched) == _carried(applied) is not None
    assert _spec(await server.ask("GET", f"{V2}/a")) == {
        "capacity": 4,
        "image": "c:d",
        "zone": "z",
        "ports": [{"name": "x", "port": 1, "protocol": "TCP"}, {"name": "y", "port": 3}, {"name": "new", "port": 4}],
    }


async def test_clients_cannot_write_the_annotation(server: InProcess) -> None:
    """Keep what is carried when a client changes the annotation, in both versions and through the status."""
    await server.ask("POST", V2, new_widget(**FULL))
    before = await server.ask("GET", f"{V1}/a")
    for path in (f"{V1}/a", f"{V2}/a", f"{V1}/a/status"):
        body = {"metadata": {"annotations": {CARRIED: '{"v2":[]}', "own": "1"}}}
        await _sent(server, "PATCH", path, body, Content_Type=MERGE)
    after = await server.ask("GET", f"{V1}/a")

    assert after.json["metadata"]["annotations"] == {CARRIED: _carried(before), "own": "1"}
    assert _spec(await server.ask("GET", f"{V2}/a")) == FULL


async def test_managers_of_carried_fields(server: InProcess) -> None:
    """Name no manager of the annotation, and none of carried fields among those of the old version."""
    await server.ask("PATCH", f"{V2}/a?fieldManager=new", new_widget(**FULL), Content_Type=APPLY)
    await server.ask("PATCH", f"{V1}/a?fieldManager=old", {"spec": {"size": 5}}, Content_Type=MERGE)
    old = (await server.ask("GET", f"{V1}/a")).json
    old["spec"]["image"] = "x"
    old["metadata"]["annotations"][CARRIED] = "{}"
    put = await _sent(server, "PUT", f"{V1}/a?fieldManager=put", old)
    copied = old | {"metadata": {"name": "b", "annotations": {CARRIED: old["metadata"]["annotations"][CARRIED]}}}
    created = await _sent(server, "POST", f"{V1}?fieldManager=copy", copied)

    managed = {entry["manager"]: entry for entry in put.json["metadata"]["managedFields"]}
    assert CARRIED not in json.dumps([put.json["metadata"]["managedFields"], created.json["metadata"]["managedFields"]])
    assert managed["old"]["fieldsV1"] == {"f:spec": {"f:size": {}}}
    assert managed["put"]["fieldsV1"] == {"f:spec": {"f:image": {}}}
    assert set(managed["new"]["fieldsV1"]["f:spec"]) == {"f:zone", "f:ports"}


async def test_a_manager_of_the_new_version_removes_its_fields(server: InProcess) -> None:
    """Let an apply of the new version remove what it owns, after writes at the old version."""
    await server.ask("PATCH", f"{V2}/a?fieldManager=new", new_widget(**FULL), Content_Type=APPLY)
    await server.ask("PATCH", f"{V1}/a", {"spec": {"image": "x"}}, Content_Type=MERGE)
    applied = await _sent(server, "PATCH", f"{V2}/a?fieldManager=new&force=true", new_widget(capacity=3), Content_Type=APPLY)

    assert _spec(applied) == {"capacity": 3, "image": "x"}
    assert _carried(await server.ask("GET", f"{V1}/a")) is None


async def test_what_the_storage_version_lacks(server: InProcess) -> None:
    """Carry a field of the old version through the storage version while clients of the new one write."""
    created = await server.ask("POST", V1, old_widget(size=1, legacy="x"))
    new = await server.ask("GET", f"{V2}/a")
    await server.ask("PATCH", f"{V2}/a", {"spec": {"zone": "z"}}, Content_Type=MERGE)

    assert (_spec(created), _carried(created)) == ({"size": 1, "legacy": "x"}, None)
    assert _carried(new) == '{"v1":[["f",["spec","legacy"],"","x"]]}'
    old = await server.ask("GET", f"{V1}/a")
    assert _spec(old) == {"size": 1, "legacy": "x"}
    assert _carried(old) == '{"v2":[["f",["spec","zone"],"","z"]]}'


async def test_updates_without_a_change_write_nothing(server: InProcess) -> None:
    """Leave the stored object alone when a client of either version puts what it got."""
    await server.ask("POST", V1, old_widget(size=1, legacy="x"))
    await server.ask("PATCH", f"{V2}/a", {"spec": {"zone": "z"}}, Content_Type=MERGE)
    before = (await server.ask("GET", f"{V2}/a")).json["metadata"]["resourceVersion"]
    for path in (f"{V1}/a", f"{V2}/a"):
        await _sent(server, "PUT", path, (await server.ask("GET", path)).json)

    assert (await server.ask("GET", f"{V2}/a")).json["metadata"]["resourceVersion"] == before


async def test_too_much_to_carry_is_refused(server: InProcess) -> None:
    """Refuse a write whose fields cannot be carried with 400, and keep reads of stored objects going; worker processes, too."""
    large = "".join(f"{number:x}" for number in range(20_000, 60_000))
    refused = await server.ask("POST", V1, old_widget(size=1, legacy=large))
    await server.ask("POST", V2, new_widget("b", zone=large))
    listed = await server.ask("GET", V1)
    returned = await server.ask("PATCH", f"{V1}/b", {"spec": {"size": 2}}, Content_Type=MERGE)

    assert refused.status == 400
    assert "what only version v1 has takes" in refused.message
    assert [item["metadata"]["annotations"][CARRIED] for item in listed.json["items"]] == ['{"v2":"too large"}']
    assert (returned.status, "in version v2 it has more than the annotation can carry" in returned.message) == (400, True)


async def test_large_objects_in_worker_processes(server: InProcess) -> None:
    """Convert large objects by the same rules in worker processes, and count these conversions."""
    ports = [{"name": f"port-{number}", "port": number, "protocol": "TCP"} for number in range(1500)]
    await _sent(server, "POST", V2, new_widget(capacity=1, ports=ports))
    old = await server.ask("GET", f"{V1}/a")
    body = old.json
    body["spec"]["size"] = 2
    del body["metadata"]["annotations"]
    await _sent(server, "PUT", f"{V1}/a", body)

    assert _spec(await server.ask("GET", f"{V2}/a")) == {"capacity": 2, "ports": ports}
    counted = {(source, target) for (_, source, target, _), found in server.converters.stats.rules.conversions.items() if found.count}
    assert counted == {("v2", "v1"), ("v1", "v2")}


async def test_marks_in_new_objects(server: InProcess) -> None:
    """Ignore what no conversion has written when a client creates an object of the storage version."""
    body = new_widget(zone="z")
    body["metadata"]["annotations"] = {CARRIED: '{"v1":"too large","v2":[]}'}
    created = await server.ask("POST", V2, body)

    assert _carried(created) is None
    assert _spec(await server.ask("GET", f"{V1}/a")) == {}


async def test_invalid_rules_fail_what_they_would_convert(server: InProcess) -> None:
    """Fail conversions by rules that do not fit, say why, and serve the storage version."""
    server.converters.known.put(Origin.FILE, conversion({"rename": {"path": "spec[", "to": "x"}}))
    created = await server.ask("POST", V2, new_widget(zone="z"))
    read, written = await server.ask("GET", f"{V1}/a"), await server.ask("POST", V1, old_widget("b"))

    assert created.status == 201
    assert (read.status, written.status) == (500, 500)
    assert "the Conversion widgets.example.com is invalid: spec.spokes[0].rules[0].rename.path" in read.message
    assert "the Conversion widgets.example.com is invalid" in written.message


async def _require(server: InProcess, *fields: str) -> None:
    """Require fields of v2."""
    crd = copy.deepcopy(widgets_crd())
    crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"] = list(fields)
    before = server.catalog.all()[0].revision
    await _sent(server, "PATCH", f"{CRDS}/{NAME}", {"spec": crd["spec"]}, Content_Type=MERGE)
    await until(lambda: server.catalog.all()[0].revision > before)


async def test_rules_in_use_go_on(server: InProcess) -> None:
    """Convert by the same rules, in worker processes too, when the CRD changes under them; not by new ones with a problem."""
    ports = [{"name": f"port-{number}", "port": number} for number in range(1500)]
    for widget in (old_widget(size=1), old_widget("large", ports=ports)):
        await _sent(server, "POST", V1, widget)
    await _require(server, "zone")
    shown = [_spec(await server.ask("GET", f"{V1}/{name}")) for name in ("a", "large")]
    rules = [{"rename": {"path": "spec.size", "to": "capacity"}}, {"drop": {"path": "spec.legacy", "reason": "unused"}}]
    server.converters.known.put(Origin.FILE, conversion(*rules))
    refused = await server.ask("GET", f"{V1}/a")

    assert shown == [{"size": 1}, {"ports": ports}]
    assert refused.status == 500
    assert "the Conversion widgets.example.com is invalid: spec.spokes[0]: v2 requires spec.zone" in refused.message


async def test_changed_rules(server: InProcess) -> None:
    """Convert by changed rules at once, end watches, and restore what fits; without rules, strategy None applies."""
    await server.ask("POST", V1, old_widget(size=1, legacy="x"))
    assert _spec(await server.ask("GET", f"{V2}/a")) == {"capacity": 1}
    async with server.session.get(server.url(f"{V1}?watch=true&resourceVersion=0")) as watch:
        event = json.loads(await watch.content.readline())
        server.converters.known.put(
            Origin.FILE,
            conversion({"rename": {"path": "spec.size", "to": "capacity"}}, {"move": {"from": "spec.legacy", "to": "spec.zone"}}),
        )
        assert await watch.content.readline() == b""
    read = [await server.ask("GET", f"{path}/a") for path in (V1, V2)]
    server.converters.known.remove(Origin.FILE, NAME)

    assert event["object"]["spec"] == {"size": 1, "legacy": "x"}
    assert [_spec(one) for one in read] == [{"size": 1, "legacy": "x"}, {"capacity": 1}]
    assert _spec(await server.ask("GET", f"{V1}/a")) == {}


async def test_watches_at_the_old_version(server: InProcess) -> None:
    """Convert watch events."""
    async with server.session.get(server.url(f"{V1}?watch=true")) as watch:
        await server.ask("POST", V2, new_widget(**FULL))
        event = json.loads(await watch.content.readline())

    assert (event["type"], event["object"]) == ("ADDED", (await server.ask("GET", f"{V1}/a")).json)


async def test_changed_storage_version(server: InProcess) -> None:
    """Keep all fields when the storage version changes and objects are rewritten."""
    await server.ask("POST", V2, new_widget(**FULL))
    await server.ask("PATCH", f"{V1}/a", {"spec": {"legacy": "x"}}, Content_Type=MERGE)
    await server.ask("PATCH", f"{CRDS}/{NAME}", {"spec": widgets_crd(storage="v1")["spec"]}, Content_Type=MERGE)
    await until(lambda: server.catalog.all()[0].storage_version.name == "v1")
    await _sent(server, "PATCH", f"{V2}/a", {"metadata": {"labels": {"a": "b"}}}, Content_Type=MERGE)

    assert _spec(await server.ask("GET", f"{V2}/a")) == FULL
    assert _spec(await server.ask("GET", f"{V1}/a"))["legacy"] == "x"
    assert (await server.stores.stored_versions(server.catalog.all()[0].resource).counts()).of("v1") == 1


async def _conditions(server: InProcess, *expected: str) -> bool:
    found = (await server.ask("GET", f"{CONVERSIONS}/{NAME}")).json
    conditions = (found.get("status") or {}).get("conditions") or []
    current = all(one["observedGeneration"] == found["metadata"]["generation"] for one in conditions)
    return current and [one["status"] for one in conditions] == [*expected]


async def test_conversions_that_are_stored() -> None:
    """Follow stored Conversions from the start, with their definition, and until they are deleted; write their status."""
    async with InProcess() as server:
        statuses = StoredStatuses(server.catalog, server.cache)
        stored = StoredConversions(server.catalog, server.cache, server.converters.known, statuses)
        await stored.start()
        await server.define(widgets_crd())
        await server.define(conversion_definition())
        await _sent(server, "POST", CONVERSIONS, conversion())
        await until(lambda: server.converters.known.of(NAME) is not None)
        await server.ask("POST", V2, new_widget(capacity=1))
        shown = _spec(await server.ask("GET", f"{V1}/a"))
        await until_answered(lambda: _conditions(server, "True", "True"))
        await _sent(server, "PATCH", f"{CONVERSIONS}/{NAME}", {"spec": {"hub": "v3"}}, Content_Type=MERGE)
        await until_answered(lambda: _conditions(server, "False", "False"))
        await stored.close()

        again = StoredConversions(server.catalog, server.cache, server.converters.known, statuses)
        server.converters.known.replace(Origin.OBJECT, ())
        await again.start()
        known = server.converters.known.of(NAME)
        await server.ask("DELETE", f"{CRDS}/conversions.conversions.apiext.dev")
        await until(lambda: server.converters.known.of(NAME) is None)
        await again.close()
        await statuses.close()

    assert shown == {"size": 1}
    assert known is not None
    assert known.document["spec"] == conversion()["spec"] | {"hub": "v3"}


async def test_nothing_is_converted_before_the_conversions_are_known() -> None:
    """Fail conversions with a reason until the host's Conversions are known, then convert."""
    async with InProcess() as server:
        server.converters.known.missing = "not listed yet"
        await server.define(widgets_crd())
        await server.ask("POST", V2, new_widget(capacity=1))
        refused = await server.ask("GET", f"{V1}/a")
        server.converters.known.put(Origin.OBJECT, conversion())
        server.converters.known.settle()

        assert (refused.status, "not listed yet" in refused.message) == (500, True)
        assert _spec(await server.ask("GET", f"{V1}/a")) == {"size": 1}
        await asyncio.sleep(0)


async def test_worker_processes_do_not_convert_before_the_conversions_are_known() -> None:
    """Fail conversions of large objects, too, until the host's Conversions are known: without rules they would lose fields."""
    ports = [{"name": f"port-{number}", "port": number, "protocol": "TCP"} for number in range(1500)]
    old = [{"name": port["name"], "port": port["port"]} for port in ports]
    async with InProcess() as server:
        server.converters.known.missing = "not listed yet"
        await server.define(widgets_crd())
        await _sent(server, "POST", V2, new_widget(capacity=1, ports=ports))
        refused = [
            await server.ask("GET", f"{V1}/a"),
            await server.ask("PATCH", f"{V1}/a", {"spec": {"size": 2}}, Content_Type=MERGE),
            await server.ask("POST", V1, old_widget("b", size=1, ports=old)),
        ]
        server.converters.known.put(Origin.OBJECT, conversion())
        server.converters.known.settle()
        await _sent(server, "PATCH", f"{V1}/a", {"spec": {"size": 2}}, Content_Type=MERGE)
        found = _spec(await server.ask("GET", f"{V2}/a"))

    assert [(one.status, "not listed yet" in one.message) for one in refused] == [(500, True)] * 3
    assert found == {"capacity": 2, "ports": ports}


async def test_nothing_is_converted_while_the_conversions_cannot_be_read() -> None:
    """Fail conversions with a reason while an unreadable Conversion hides the others, instead of converting without rules."""
    async with InProcess() as server:
        await server.define(widgets_crd())
        await server.define(conversion_definition())
        await _sent(server, "POST", CONVERSIONS, conversion())
        unreadable = "/registry/conversions.apiext.dev/conversions/unreadable"
        created = await server.backend.create(unreadable, b"?")
        statuses = StoredStatuses(server.catalog, server.cache)
        stored = StoredConversions(server.catalog, server.cache, server.converters.known, statuses)
        await stored.start()
        await _sent(server, "POST", V2, new_widget(**FULL))
        refused = await server.ask("PATCH", f"{V1}/a", {"spec": {"size": 4}}, Content_Type=MERGE)
        await server.backend.delete(unreadable, expected=created.revision)
        await until(lambda: server.converters.known.of(NAME) is not None)
        await _sent(server, "PATCH", f"{V1}/a", {"spec": {"size": 4}}, Content_Type=MERGE)
        found = _spec(await server.ask("GET", f"{V2}/a"))
        await stored.close()
        await statuses.close()

    assert (refused.status, NOT_READ in refused.message) == (500, True)
    assert found == FULL | {"capacity": 4}


async def test_a_store_without_its_server(server: InProcess) -> None:
    """Read the Conversions of a store, and rewrite objects by their rules."""
    await server.define(conversion_definition())
    await _sent(server, "POST", CONVERSIONS, conversion())
    await server.ask("POST", V2, new_widget(capacity=1))
    objects = OfflineObjects(server.stores)
    definitions = {one.name: one for one in await objects.definitions()}
    pair = await objects.get(definitions[NAME], "default/a")
    assert pair is not None
    body = json.dumps(old_widget(size=2) | {"metadata": {"name": "a", "namespace": "default"}}).encode()
    await objects.replace(definitions[NAME], "default/a", body, revision=pair.revision, encode=True)

    assert [one["metadata"]["name"] for one in await read_conversions(server.stores)] == [NAME]
    assert _spec(await server.ask("GET", f"{V2}/a")) == {"capacity": 2}
