"""The status subresource of custom resources (apiextensions-apiserver pkg/registry/customresource/status_strategy.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.meta import field, objectmeta_rules
from apiext.registry.customresource import CustomResourceStrategy, status_scale_errors
from apiext.registry.rest import ResourceRest

if TYPE_CHECKING:
    from apiext.meta.field import FieldError
    from apiext.meta.json_codec import Object
    from apiext.registry.request_context import RequestContext


class StatusStrategy(CustomResourceStrategy):
    """Strategy of the status subresource: changes nothing but the status."""

    __slots__ = ()

    def __init__(self, resource: CustomResourceStrategy) -> None:
        super().__init__(
            kind=resource.kind,
            namespaced=resource.namespaced,
            rules=resource.rules,
            has_status=resource.has_status,
            scale=resource.scale,
        )

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Replace the object by the old one with the new status and managedFields."""
        given, managers = obj.get("status", _ABSENT), obj["metadata"].get("managedFields")
        obj.clear()
        obj.update(old)
        metadata = obj["metadata"] = dict(old["metadata"])
        if managers is None:
            metadata.pop("managedFields", None)
        else:
            metadata["managedFields"] = managers
        if given is _ABSENT:
            obj.pop("status", None)
        else:
            obj["status"] = given

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[FieldError]:
        """Validate kind and version; then metadata, the status, its replicas, and lists."""
        errors = self.type_errors(obj)
        if errors:
            return errors
        errors = field.distinct(objectmeta_rules.validate_update(obj["metadata"], old["metadata"]))
        errors += self.rules.validate_status(obj, old)
        return errors + status_scale_errors(obj, self.scale) + self.rules.validate_lists(obj, old)

    def warnings_on_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[str]:
        """Return no warnings: finalizers do not change."""
        return []


_ABSENT = object()


class StatusRest(ResourceRest):
    """get, update and patch of the status; shares the resource's store and codec."""

    __slots__ = ()

    def __init__(self, resource: ResourceRest, strategy: CustomResourceStrategy) -> None:
        super().__init__(
            store=resource.store,
            codec=resource.codec,
            strategy=StatusStrategy(strategy),
            resource=resource.resource,
            kind=resource.kind,
            namespaced=resource.namespaced,
        )
