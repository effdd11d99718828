"""REST of PriorityClasses (kubernetes pkg/registry/scheduling/priorityclass/storage)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, TypeVar

from apiext.base.meta import errors
from apiext.resources.registry.rest import ResourceRest

if TYPE_CHECKING:
    from apiext.resources.registry.request_context import DeleteOptions, RequestContext
    from apiext.storage.interface import Item, ListOptions, ListResult

NODE_CRITICAL: Final = "system-node-critical"
CLUSTER_CRITICAL: Final = "system-cluster-critical"
_R = TypeVar("_R", bound=ResourceRest)
_SYSTEM: Final = frozenset({NODE_CRITICAL, CLUSTER_CRITICAL})


class PriorityClassRest(ResourceRest):
    """ResourceRest that keeps the system's classes. As in the reference, the deletion of a collection removes them, too."""

    __slots__ = ()

    async def delete(self, ctx: RequestContext, name: str, options: DeleteOptions) -> tuple[Item, bool]:
        """Delete a class.

        Raises:
            StatusError: 403 for a class of the system.
        """
        if name in _SYSTEM:
            raise errors.forbidden(self.resource, name, "this is a system priority class and cannot be deleted")
        return await ResourceRest.delete(self, ctx, name, options)

    async def delete_collection(self, ctx: RequestContext, options: DeleteOptions, list_options: ListOptions) -> ListResult:
        """Delete all classes of a list."""
        return await _of(ResourceRest, self).delete_collection(ctx, options, list_options)


def guarded(rest: ResourceRest) -> PriorityClassRest:
    """Return the verbs of PriorityClasses."""
    return _of(PriorityClassRest, rest)


def _of(verbs: type[_R], rest: ResourceRest) -> _R:
    return verbs(**{member.name: getattr(rest, member.name) for member in dataclasses.fields(ResourceRest)})
