"""The resource of a stored key."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from apiext.base.meta.builtin_resources import BUILTINS, INTERNAL_V1ALPHA1, BuiltinGroupVersion
from apiext.base.meta.gvk import GroupResource
from apiext.storage import keys
from apiext.storage.replicas import server_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

_USUAL: Final = (*BUILTINS, INTERNAL_V1ALPHA1)
"""The built-in kinds that are served without `--builtin-kinds`."""


class ResourceKeys:
    """Splits keys below a prefix: `<prefix>/<group>/<resource>/...`, without the group for kinds of kube-apiserver itself."""

    __slots__ = ("_begin", "_root")

    def __init__(self, prefix: str) -> None:
        self._root = keys.root(prefix)
        self._begin = len(self._root)

    def place(self, key: str) -> str:
        """Return the beginning of a key that says its resource, empty for a key elsewhere."""
        if not key.startswith(self._root):
            return ""
        first = key.find("/", self._begin)
        if "." not in key[self._begin : first] and key[self._begin : first] != "services":
            return key[: first + 1]
        return key[: key.find("/", first + 1) + 1]

    def resource(self, place: str) -> GroupResource | None:
        """Return the resource of a place. Return None for the records of apiext, which are never encrypted."""
        if not place or server_keys.is_record(place[self._begin :]):
            return None
        group, _, resource = place[self._begin : -1].rpartition("/")
        if "." in group:
            return GroupResource(group, resource)
        name = place[self._begin : -1]
        return _groups(_USUAL).get(name) or _all_groups().get(name) or GroupResource("", name)


@cache
def _all_groups() -> Mapping[str, GroupResource]:
    # read with the first key of a kind that few servers have
    from apiext.base.meta.generated.resources import further_resources

    return _groups(further_resources(_USUAL))


@cache
def _groups(builtins: tuple[BuiltinGroupVersion, ...]) -> Mapping[str, GroupResource]:
    """Return built-in resources by their names in keys."""
    found: dict[str, GroupResource] = {}
    for group in builtins:
        for resource in group.resources:
            # events are configured by their first group
            found.setdefault(resource.stored_resource.resource, resource.resource.group_resource)
    return found
