"""The stored versions of the host's definitions and of their mirrors."""

import copy
import itertools
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apiext.base.meta import host_annotations
from apiext.base.meta.host_annotations import STORED_VERSIONS_CONDITION
from apiext.operator.api_clients import CRDS, ApiError, Clients
from apiext.operator.group_state import condition_of
from apiext.operator.host_definitions import storage_version
from apiext.operator.reporting.event_recorder import EventRecorder
from apiext.operator.reporting.group_reporter import GroupReporter
from apiext.operator.stored_versions import follow_stored_versions
from apiext.operator.watched_state import WatchedState
from apiext.server.host.host_definition import host_definition
from tests.support.servers.memory_api import MemoryApi
from tests.unit.operator.parts import GROUP, SELECTOR, Json, crd, mirror

NAME = f"widgets.{GROUP}"
PATH = f"{CRDS}/{NAME}"


class Pair:
    """A definition of the host and its mirror, both with v2 (stored) and v1, and the numbers of objects that apiext stores."""

    def __init__(self, on_host: list[str], in_apiext: list[str], **counts: int) -> None:
        self.host, self.apiext = MemoryApi(), MemoryApi()
        self.clients = Clients(host=self.host, apiext=self.apiext)
        self.watched = WatchedState(SELECTOR, lambda _: None)
        self.watched.crds.update(self.host.put_in(PATH, crd("v2", "v1") | {"status": {"storedVersions": on_host}}))
        self.mirror(mirror("v2", "v1", status={"storedVersions": in_apiext}))
        self.count(**counts)

    def mirror(self, found: Json) -> None:
        """Replace the mirror."""
        self.watched.definitions.update(self.apiext.put_in(PATH, found))

    def count(self, unknown: int = 0, **counts: int) -> None:
        """Set how many objects are stored by version."""
        versions = [{"name": name, "objects": number} for name, number in counts.items()]
        self.apiext.objects[f"/stored/versions/{NAME}"] = {"versions": versions, "unknown": unknown, "resourceVersion": "1"}

    async def follow(self) -> float | None:
        """Reconcile once."""
        reporter = GroupReporter(self.host, EventRecorder(self.host, instance="me"), self.watched.crds.update)
        return await follow_stored_versions(self.clients, self.watched, self.watched.group(GROUP), reporter)

    @property
    def stored(self) -> tuple[list[str], list[str]]:
        """The stored versions on both sides."""
        found = [api.objects[PATH]["status"]["storedVersions"] for api in (self.host, self.apiext)]
        return found[0], found[1]

    @property
    def said(self) -> tuple[str, str]:
        """Status and message of the condition."""
        found = condition_of(self.host.objects[PATH], STORED_VERSIONS_CONDITION)
        return found.get("status", ""), found.get("message", "")


async def test_mirror_follows_a_removal() -> None:
    """Remove a version from the mirror that the host has removed if no object is stored in it."""
    pair = Pair(["v2"], ["v1", "v2"], v2=7)

    assert await pair.follow() is None

    assert pair.stored == (["v2"], ["v2"])
    assert pair.said == ("", "")
    assert pair.watched.group(GROUP).mirrors[NAME]["status"]["storedVersions"] == ["v2"]


async def test_asks_nothing_while_nothing_is_removed() -> None:
    """Send no request if the host has all versions of the mirror, and leave versions that only the host has."""
    pair = Pair(["v1", "v2"], ["v2"])

    assert await pair.follow() is None
    assert pair.host.calls == pair.apiext.calls == []


@pytest.mark.parametrize("counts, words", [({"v1": 3, "v2": 7}, "3 in v1;"), ({"unknown": 2}, "0 in v1, 2 in an unknown version;")])
async def test_undoes_a_removal_while_objects_are_left(counts: dict[str, int], words: str) -> None:
    """Add the version to the host's list again, report the number of objects, and report it anew until none is left."""
    pair = Pair(["v2"], ["v1", "v2"], **counts)

    assert await pair.follow() == 5.0
    assert pair.stored == (["v2", "v1"], ["v1", "v2"])
    status, message = pair.said
    assert (status, words in message) == ("True", True)
    assert "dropped" not in message
    events = pair.host.under("/api/v1/namespaces/default/events")
    assert [event["reason"] for event in events.values()] == [STORED_VERSIONS_CONDITION]

    pair.count(v1=1)
    assert await pair.follow() == 5.0
    assert "1 in v1;" in pair.said[1]
    pair.count(v2=10)
    assert await pair.follow() is None
    assert pair.said == ("", "")
    assert pair.stored == (["v2", "v1"], ["v1", "v2"])
    assert len(pair.host.under("/api/v1/namespaces/default/events")) == 1


async def test_reports_a_dropped_version() -> None:
    """Report a version with objects that the host has dropped, and follow when they are migrated."""
    pair = Pair(["v2"], ["v1", "v2"], v1=3)
    pair.watched.crds.update(pair.host.put_in(PATH, crd("v2") | {"status": {"storedVersions": ["v2"]}}))

    assert await pair.follow() == 5.0
    assert pair.stored == (["v2"], ["v1", "v2"])
    assert "apiext keeps v1, which the definition has dropped" in pair.said[1]

    pair.count(v2=3)
    assert await pair.follow() is None
    assert pair.stored == (["v2"], ["v2"])
    assert pair.said == ("", "")


async def test_waits_for_a_mirror_that_lags() -> None:
    """Keep the storage version of a mirror that has not followed the host's storage version yet."""
    pair = Pair(["v2"], ["v1"])
    pair.mirror(mirror("v1", "v2", status={"storedVersions": ["v1"]}))

    assert await pair.follow() == 5.0
    assert pair.stored == (["v2"], ["v1"])

    pair.count(v1=2)
    assert await pair.follow() == 5.0
    assert pair.stored == (["v2", "v1"], ["v1"])


async def test_counts_again_after_a_change_of_the_mirror() -> None:
    """Remove nothing from a mirror that changed after the operator read it: it may have stored the version again."""
    pair = Pair(["v2"], ["v1", "v2"])
    pair.apiext.put_in(PATH, pair.apiext.objects[PATH])

    assert await pair.follow() == 5.0
    assert pair.stored == (["v2"], ["v1", "v2"])


async def test_keeps_concurrent_changes_of_the_host() -> None:
    """Add a version to the present list of the host, whatever another controller has written meanwhile."""
    pair = Pair(["v2"], ["v1", "v2"], v1=3)
    migrating = {"type": "StorageMigrating", "status": "False"}
    pair.host.put_in(PATH, pair.host.objects[PATH] | {"status": {"storedVersions": ["v2", "v3"], "conditions": [migrating]}})

    assert await pair.follow() == 5.0

    assert pair.stored[0] == ["v2", "v3", "v1"]
    assert [one["type"] for one in pair.host.objects[PATH]["status"]["conditions"]] == ["StorageMigrating", STORED_VERSIONS_CONDITION]


async def test_ignores_other_definitions() -> None:
    """Ignore a mirror of an earlier definition of that name, and a definition that is being deleted."""
    pair = Pair(["v2"], ["v1", "v2"])
    pair.mirror(mirror("v2", "v1", status={"storedVersions": ["v1"]}) | {"metadata": {"annotations": {host_annotations.HOST_UID: "old"}}})
    assert await pair.follow() is None

    pair.mirror(mirror("v2", "v1", status={"storedVersions": ["v1"]}))
    pair.watched.crds.update(pair.host.put_in(PATH, crd("v2", deletionTimestamp="now")))
    assert await pair.follow() is None
    assert pair.apiext.calls == []


async def test_raises_errors() -> None:
    """Raise an error of apiext: nothing is changed on either side."""
    pair = Pair(["v2"], ["v1", "v2"])
    pair.apiext.refused["PATCH", f"{PATH}/status"] = ApiError("overloaded", code=503)

    with pytest.raises(ApiError, match="overloaded"):
        await pair.follow()
    assert pair.stored == (["v2"], ["v1", "v2"])


# --- any order of changes ---------------------------------------------------------------------------------------------

NAMED = itertools.product(("store", "switch", "remove", "drop", "add"), ("v1", "v2"))
CHANGE = st.sampled_from([*NAMED, ("mirror", ""), ("write", ""), ("migrate", "")])
STEP = st.tuples(CHANGE, st.booleans(), st.lists(CHANGE, max_size=2))
"""A change; whether the operator sees it and acts; changes between its count and its next call."""


class Evolving(Pair):
    """A definition that changes at any time, also between two calls of the operator; `meanwhile` is called after each count."""

    def __init__(self) -> None:
        super().__init__(["v1", "v2"], ["v1", "v2"], v2=1)
        self.counts = {"v2": 1}
        self.meanwhile: Callable[[], None] = lambda: None
        self.apiext.get = self._get  # type: ignore[method-assign]

    async def _get(self, path: str) -> Json:
        self.count(**self.counts)
        found = await super(MemoryApi, self.apiext).get(path)
        self.meanwhile()
        return found

    def change(self, what: str, version: str) -> None:
        """Make one change, if it is possible."""
        getattr(self, f"_{what}")(copy.deepcopy(self.host.objects[PATH]), version)
        self.check()

    def check(self) -> None:
        """Assert that the mirror has and lists each version in which objects are stored, and its storage version."""
        held, listed = self.apiext.objects[PATH], self.stored[1]
        in_use = {storage_version(held), *(name for name, number in self.counts.items() if number)}
        assert in_use <= set(listed) <= {one["name"] for one in held["spec"]["versions"]}

    def _store(self, found: Json, version: str) -> None:
        versions = {one["name"]: one for one in found["spec"]["versions"]}
        if version in versions:
            found["spec"]["versions"] = [one | {"storage": name == version} for name, one in versions.items()]
            found["status"]["storedVersions"] = sorted({version, *found["status"]["storedVersions"]})
            self.host.put_in(PATH, found)

    def _switch(self, found: Json, version: str) -> None:
        self._store(found, version)
        self._mirror(self.host.objects[PATH], "")
        self._write(found, "")

    def _remove(self, found: Json, version: str) -> None:
        if version != storage_version(found):
            found["status"]["storedVersions"] = [one for one in found["status"]["storedVersions"] if one != version]
            self.host.put_in(PATH, found)

    def _drop(self, found: Json, version: str) -> None:
        if version not in found["status"]["storedVersions"]:
            found["spec"]["versions"] = [one for one in found["spec"]["versions"] if one["name"] != version]
            self.host.put_in(PATH, found)

    def _add(self, found: Json, version: str) -> None:
        if version not in {one["name"] for one in found["spec"]["versions"]}:
            found["spec"]["versions"].append(found["spec"]["versions"][0] | {"name": version, "storage": False})
            self.host.put_in(PATH, found)

    def _mirror(self, found: Json, _: str) -> None:
        mirrored = host_definition(found, SELECTOR).mirror(self.apiext.objects[PATH])
        stored = sorted({storage_version(mirrored), *mirrored["status"]["storedVersions"]})
        self.apiext.put_in(PATH, mirrored | {"status": mirrored["status"] | {"storedVersions": stored}})

    def _write(self, _found: Json, _version: str) -> None:
        storage = storage_version(self.apiext.objects[PATH])
        self.counts[storage] = self.counts.get(storage, 0) + 1

    def _migrate(self, _found: Json, _version: str) -> None:
        self.counts = {storage_version(self.apiext.objects[PATH]): sum(self.counts.values())}

    def _see(self, found: Json, _version: str) -> None:
        self.watched.crds.update(found)
        self.watched.definitions.update(copy.deepcopy(self.apiext.objects[PATH]))


@example([(("remove", "v1"), True, [("switch", "v1")])])
@example([(("store", "v1"), False, []), (("mirror", ""), False, []), (("store", "v2"), False, []), (("remove", "v1"), True, [])])
@settings(max_examples=200)
@given(st.lists(STEP, max_size=8))
async def test_stored_versions_hold_all_objects(steps: list[tuple[tuple[str, str], bool, list[tuple[str, str]]]]) -> None:
    """List every version with objects in the mirror, whatever changes when; agree with the host when nothing changes any more."""
    pair = Evolving()

    async def operate(*changes: tuple[str, str]) -> float | None:
        def meanwhile() -> None:
            for change in changes:
                pair.change(*change)

        pair.change("see", "")
        pair.meanwhile = meanwhile
        after = await pair.follow()
        pair.check()
        return after

    for change, operates, meanwhile in steps:
        pair.change(*change)
        if operates:
            await operate(*meanwhile)

    pair.change("mirror", "")
    pair.change("migrate", "")
    await operate()
    pair.change("mirror", "")
    for version in ("v1", "v2"):
        pair.change("remove", version)
    assert await operate() is None
    assert pair.stored[0] == pair.stored[1] == [storage_version(pair.host.objects[PATH])]
