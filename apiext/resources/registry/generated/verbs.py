"""Verbs of PriorityClasses, and of the scale of workloads.

Mirrors kubernetes pkg/registry/scheduling/priorityclass/storage, and ScaleREST of pkg/registry/{apps,core}/*/storage.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from apiext.base.meta import errors
from apiext.base.meta.objectmeta.label_selector import selector_text
from apiext.resources.registry.customresources.scale import ScaleRest
from apiext.resources.registry.customresources.strategy import ScalePaths
from apiext.resources.registry.rest import ResourceRest

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupVersionKind
    from apiext.resources.registry.customresources.scale import FieldTranslator
    from apiext.resources.registry.request_context import DeleteOptions, RequestContext
    from apiext.storage.interface import Item, ListOptions, ListResult

NODE_CRITICAL: Final = "system-node-critical"
CLUSTER_CRITICAL: Final = "system-cluster-critical"
_PATHS: Final = ScalePaths(".spec.replicas", ".status.replicas", "")


class PriorityClassRest(ResourceRest):
    """ResourceRest that keeps the system's classes. As in the reference, the deletion of a collection removes them, too."""

    __slots__ = ()

    async def delete(self, ctx: RequestContext, name: str, options: DeleteOptions) -> tuple[Item, bool]:
        """Delete a class.

        Raises:
            StatusError: 403 for a class of the system.
        """
        if name in {NODE_CRITICAL, CLUSTER_CRITICAL}:
            raise errors.forbidden(self.resource, name, "this is a system priority class and cannot be deleted")
        return await ResourceRest.delete(self, ctx, name, options)

    async def delete_collection(self, ctx: RequestContext, options: DeleteOptions, list_options: ListOptions) -> ListResult:
        """Delete all classes of a list."""
        plain = ResourceRest(**{member.name: getattr(self, member.name) for member in dataclasses.fields(ResourceRest)})
        return await plain.delete_collection(ctx, options, list_options)


class WorkloadScaleRest(ScaleRest):
    """The scale of a workload. Its selector is a label selector, or the labels of a ReplicationController."""

    def __init__(self, resource: ResourceRest, kind: GroupVersionKind, fields: FieldTranslator) -> None:
        super().__init__(resource, _PATHS, fields)
        self._selects_labels = not kind.group

    def selector_of(self, obj: Object) -> str | None:
        """Return the selector as text."""
        selector = obj["spec"].get("selector")
        return selector_text({"matchLabels": selector} if self._selects_labels else selector)
