"""No request reaches the servers' own records: not by the names of CRDs, objects or namespaces."""

import itertools
from collections.abc import AsyncGenerator
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.base.meta.builtin_resources import BUILTINS, INTERNAL_V1ALPHA1
from apiext.base.meta.generated.resources import further_resources
from apiext.base.meta.gvk import GroupResource
from apiext.resources.definitions.codec import canonical
from apiext.resources.definitions.validation.definition import validate_create
from apiext.storage import keys
from apiext.storage.backend import Guard, KeyValue, RangeResult, WatchBatch, WriteResult
from apiext.storage.replicas import server_keys
from apiext.storage.replicas.former_records import KEPT
from tests.support.builders.crds import crd
from tests.support.event_loop import until_answered
from tests.support.servers.in_process import CRDS, InProcess
from tests.support.servers.memory_backend import MemoryBackend

NAMES: Final = (
    *("", ".", "..", "host", "call", "members", "replicas", "apiext", "apiext.dev", "revision-base"),
    *("%2F", "%2e%2e", "..%2F..%2Fapiext%2Fhost", "%2e%2e%2fhost", "members%2Fx", "%00", "%C0%AF", "a%2Fb", "host%2F", "%252F", "~"),
)
"""Segments of paths, as a client sends them."""
DEFINED: Final = {"apiext.dev": "apiext", "apiext.apiext.dev": "host"}
"""Plurals of CRDs by their groups."""
EDGES: Final = (
    *("apiext", "apiext.dev", "replicas", "companions", "host", "restore", "revision-base", "members", "call"),
    *("..", "", "/", "%2F"),
)
"""What keys of records are made of."""


class RecordingBackend(MemoryBackend):
    """Remembers the keys and prefixes of all calls."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """Implement Backend.get."""
        self.seen.add(key)
        return await super().get(key)

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """Implement Backend.list."""
        self.seen |= {prefix, start} - {""}
        return await super().list(prefix, start=start, revision=revision, limit=limit)

    async def create(self, key: str, value: bytes, *, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.create."""
        self.seen.add(key)
        return await super().create(key, value, guard=guard)

    async def update(self, key: str, value: bytes, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.update."""
        self.seen.add(key)
        return await super().update(key, value, expected=expected, guard=guard)

    async def delete(self, key: str, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.delete."""
        self.seen.add(key)
        return await super().delete(key, expected=expected, guard=guard)

    def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncGenerator[WatchBatch]:
        """Implement Backend.watch."""
        self.seen.add(prefix)
        return super().watch(prefix, start=start, previous=previous)


def _is_reached(key: str) -> bool:
    """Report whether a key, relative to the prefix of all keys, is that of a record that a server keeps."""
    return server_keys.is_record(key) or key in {f"{server_keys.FORMER_SEGMENT}/{name}" for name in KEPT}


async def _ask_everything(server: InProcess, path: str, obj: dict[str, Any]) -> None:
    for method in ("GET", "DELETE"):
        await server.ask(method, path)
    for method in ("POST", "PUT"):
        await server.ask(method, path, obj)
    await server.ask("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, Content_Type="application/merge-patch+json")
    await server.ask("PATCH", f"{path}?fieldManager=x", obj, Content_Type="application/apply-patch+yaml")


@pytest.mark.parametrize("scope", ["Namespaced", "Cluster"])
@pytest.mark.parametrize("watch_cache", [True, False])
async def test_requests_stay_below_their_resource(scope: str, watch_cache: bool) -> None:  # noqa: FBT001
    """Read and write only keys below the prefixes of served resources, whatever segments the path of a request has."""
    backend, few = RecordingBackend(), ("members", "..%2F..%2Fapiext%2Fhost")
    pairs = {*itertools.product(NAMES, few), *itertools.product(few, NAMES)} if scope == "Namespaced" else {("", name) for name in NAMES}
    async with InProcess(backend=backend, watch_cache=watch_cache, lifecycle=False) as server:
        for group, plural in DEFINED.items():
            await server.define(crd(plural, group=group, kind=plural.title(), scope=scope))
            for namespace, name in pairs:
                inside = f"namespaces/{namespace}/" if scope == "Namespaced" else ""
                obj = {"apiVersion": f"{group}/v1", "kind": plural.title(), "metadata": {"name": name, "namespace": namespace}}
                await _ask_everything(server, f"/apis/{group}/v1/{inside}{plural}/{name}", obj)
        resources = [definition.resource for definition in server.catalog.all()]
    custom = tuple(keys.resource_prefix("/registry", resource) for resource in resources)
    builtin = tuple(keys.resource_prefix("/registry", one.resource.stored_resource) for one in server.endpoints)
    strange = [key for key in backend.seen - {"/registry/"} if not key.startswith((*custom, *builtin))]

    assert strange == []
    assert not [key for key in backend.seen if _is_reached(key.removeprefix("/registry/"))]
    assert any(key.startswith(custom) for key in backend.seen)


@given(
    group=st.one_of(st.sampled_from(EDGES), st.lists(st.sampled_from(EDGES), max_size=4).map(".".join), st.text(max_size=20)),
    plural=st.one_of(st.sampled_from(EDGES), st.text(max_size=20)),
    rest=st.lists(st.one_of(st.sampled_from(EDGES), st.text(max_size=8)), min_size=1, max_size=3),
)
def test_no_accepted_definition_reaches_records(group: str, plural: str, rest: list[str]) -> None:
    """Refuse each definition whose instances would lie at the key of a record, whatever their namespaces and names."""
    definition = canonical(crd(plural, group=group))
    key = keys.resource_prefix("", GroupResource(group, plural))[1:] + "/".join(rest)

    assert validate_create(definition) or not _is_reached(key)


@pytest.mark.parametrize("plural", ["replicas", "companions"])
def test_refuses_definitions_among_records(plural: str) -> None:
    """Refuse definitions in whose place servers of earlier releases have records, and say why; accept such plurals elsewhere."""
    (error,) = validate_create(canonical(crd(plural, group="apiext.dev")))

    assert error.field == "spec.names.plural"
    assert "is reserved in this group: servers of earlier releases keep records where" in str(error)
    assert not validate_create(canonical(crd(plural, group="example.com")))
    assert not validate_create(canonical(crd(plural, group="conversions.apiext.dev")))


def test_no_built_in_resource_reaches_records() -> None:
    """Keep all resources of kube-apiserver elsewhere, by their place in the store."""
    usual = (*BUILTINS, INTERNAL_V1ALPHA1)
    groups = (*usual, *further_resources(usual))
    places = {keys.resource_prefix("", one.stored_resource)[1:] for group in groups for one in group.resources}

    assert len(places) > 30
    assert not [place for place in places if _is_reached(place)]


async def _status(server: InProcess, path: str) -> int:
    return (await server.ask("GET", path)).status


async def _reasons(server: InProcess, path: str) -> set[str]:
    return {one["reason"] for one in (await server.ask("GET", path)).json["status"]["conditions"] if one["status"] == "False"}


async def test_an_existing_definition_among_records() -> None:
    """Serve no instance of a definition that an earlier release has established, say why in its status, and delete it without them."""
    records = {f"/registry/apiext.dev/replicas/{key}": b"{}" for key in ("call", "members/one", "default/two")}
    async with InProcess() as server:
        await server.define(crd("stand-ins", group="apiext.dev", kind="Replica"))
        pair, _ = await server.backend.get("/registry/apiextensions.k8s.io/customresourcedefinitions/stand-ins.apiext.dev")
        assert pair is not None
        for key, value in records.items():
            await server.backend.create(key, value)
        await server.backend.create(pair.key.replace("stand-ins", "replicas"), pair.value.replace(b"stand-ins", b"replicas"))
        path = f"{CRDS}/replicas.apiext.dev"

        async def is_told() -> bool:
            return await _reasons(server, path) == {"Reserved", "NotAccepted"}

        async def is_gone() -> bool:
            return await _status(server, path) == 404

        await until_answered(is_told)
        base = "/apis/apiext.dev/v1/namespaces/members/replicas"
        answers = [(await server.ask("GET", f"{base}{name}")).status for name in ("", "/one")]
        changed = await server.ask("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, Content_Type="application/merge-patch+json")
        deleted = await server.ask("DELETE", path)
        await until_answered(is_gone)

        assert (answers, changed.status, deleted.status) == ([404, 404], 200, 200)
        assert {key: found.value for key in records if (found := server.backend.state.get(key))} == records
