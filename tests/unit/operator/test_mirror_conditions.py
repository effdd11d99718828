"""Conditions of mirrors on the host's definitions."""

from apiext.base.meta.host_annotations import STORED_VERSIONS_CONDITION
from apiext.operator.api_clients import CRDS
from apiext.operator.reconciler import show_mirror_conditions
from apiext.operator.watched_state import WatchedState
from apiext.resources.definitions.unused_versions import UNUSED_STORED_VERSIONS
from tests.support.servers.memory_api import MemoryApi
from tests.unit.operator.parts import GROUP, SELECTOR, crd, mirror

PATH = f"{CRDS}/widgets.{GROUP}"
ESTABLISHED = {"type": "Established", "status": "True"}
UNUSED = {"type": UNUSED_STORED_VERSIONS, "status": "True", "reason": "NoObjectsStored", "message": "v1", "lastTransitionTime": "earlier"}


async def test_shows_and_removes_conditions() -> None:
    """Set the mirror's conditions on the host's definition, keep the host's own, and remove them with the mirror's or with the mirror."""
    host, watched = MemoryApi(), WatchedState(SELECTOR, lambda _: None)
    in_use = {"type": STORED_VERSIONS_CONDITION, "status": "True"}
    watched.crds.update(host.put_in(PATH, crd() | {"status": {"conditions": [ESTABLISHED, in_use]}}))

    async def shown(*conditions: dict[str, str]) -> list[str]:
        watched.definitions.replace([mirror(status={"conditions": [*conditions]})] if conditions else [])
        await show_mirror_conditions(host, watched, watched.group(GROUP))
        found = host.objects[PATH]["status"]["conditions"]
        assert watched.group(GROUP).crds[f"widgets.{GROUP}"]["status"]["conditions"] == found
        return [f"{one['type']} {one['status']} {one.get('message', '')}".strip() for one in found]

    kept = ["Established True", f"{STORED_VERSIONS_CONDITION} True"]
    assert await shown(ESTABLISHED, UNUSED) == [*kept, f"{UNUSED_STORED_VERSIONS} True v1"]
    writes = len(host.written())
    assert await shown(ESTABLISHED, UNUSED | {"lastTransitionTime": "later"}) == [*kept, f"{UNUSED_STORED_VERSIONS} True v1"]
    assert len(host.written()) == writes
    assert await shown(ESTABLISHED) == kept
    assert await shown() == ["Established True"]


async def test_ignores_a_deleted_definition() -> None:
    """Forget a definition that was deleted meanwhile."""
    host, watched = MemoryApi(), WatchedState(SELECTOR, lambda _: None)
    watched.crds.update(crd())
    watched.definitions.update(mirror(status={"conditions": [UNUSED]}))

    await show_mirror_conditions(host, watched, watched.group(GROUP))

    assert watched.group(GROUP).crds == {}
