"""The scale subresource of workloads (kubernetes pkg/registry/{apps,core}/*/storage, ScaleREST)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.resources.registry.customresources.scale import ScaleRest
from apiext.resources.registry.customresources.strategy import ScalePaths

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupVersionKind
    from apiext.resources.registry.customresources.scale import FieldTranslator
    from apiext.resources.registry.rest import ResourceRest

_PATHS: Final = ScalePaths(".spec.replicas", ".status.replicas", "")


def selector_text(selector: Object | None) -> str:
    """Return a label selector as text, empty if it selects everything or nothing."""
    selector = selector or {}
    requirements = [(name, f"{name}={value}") for name, value in (selector.get("matchLabels") or {}).items()]
    requirements += [(each["key"], _requirement(each)) for each in selector.get("matchExpressions") or ()]
    return ",".join(shown for _, shown in sorted(requirements, key=lambda one: one[0]))


def _requirement(expression: Object) -> str:
    key, operator, values = expression["key"], expression.get("operator"), sorted(expression.get("values") or ())
    if operator == "Exists":
        return str(key)
    if operator == "DoesNotExist":
        return f"!{key}"
    return f"{key} {'in' if operator == 'In' else 'notin'} ({','.join(values)})"


class WorkloadScaleRest(ScaleRest):
    """The scale of a workload. Its selector is a label selector, or the labels of a ReplicationController."""

    def __init__(self, resource: ResourceRest, kind: GroupVersionKind, fields: FieldTranslator) -> None:
        super().__init__(resource, _PATHS, fields)
        self._selects_labels = not kind.group

    def selector_of(self, obj: Object) -> str | None:
        """Return the selector as text."""
        selector = obj["spec"].get("selector")
        return selector_text({"matchLabels": selector} if self._selects_labels else selector)
