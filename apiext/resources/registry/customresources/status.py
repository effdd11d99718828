"""The status subresource of custom resources (apiextensions-apiserver pkg/registry/customresource/status_strategy.go)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from apiext.base.meta import field
from apiext.resources.registry.customresources.strategy import CustomResourceStrategy, status_scale_errors
from apiext.resources.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.resources.registry.request_context import RequestContext


@dataclass(frozen=True, slots=True, eq=False)
class StatusStrategy(Strategy):
    """Strategy of the status subresource: changes only the status."""

    resource: CustomResourceStrategy

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Replace the object by the old one with the new status and managedFields."""
        given = {"status": obj["status"]} if "status" in obj else {}
        managers = obj["metadata"].get("managedFields")
        obj.clear()
        obj.update(old)
        metadata = obj["metadata"] = dict(old["metadata"])
        if managers is None:
            metadata.pop("managedFields", None)
        else:
            metadata["managedFields"] = managers
        obj.pop("status", None)
        obj.update(given)

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate kind and version first, then metadata, status and replicas, then lists and rules."""
        rules, scale = self.resource.rules, self.resource.scale
        errors = self.resource.type_errors(obj)
        if not errors:
            errors = field.distinct(list(metadata_errors))
            errors += rules.validate_status(obj, old)
            if scale is not None:
                errors += status_scale_errors(obj, scale)
        is_valid = rules.has_rules and rules.is_valid(obj)
        return self.resource.with_rule_errors(ctx, errors + rules.validate_lists(obj, old), obj, old, is_valid=is_valid)
