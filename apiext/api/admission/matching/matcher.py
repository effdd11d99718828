"""Decides whether criteria match a write (apiserver policy/matching/matching.go, webhook/generic/webhook.go ShouldCallHook)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from apiext.api.admission.attributes import Attributes
from apiext.api.admission.object_interfaces import EquivalentResource
from apiext.base.meta import errors
from apiext.base.meta.gvk import GroupResource
from apiext.base.meta.request import AdmissionOperation
from apiext.base.meta.selectors import LabelSelector

if TYPE_CHECKING:
    from apiext.api.admission.matching.criteria import MatchCriteria
    from apiext.api.admission.matching.rules import Rule
    from apiext.api.admission.sources import NamespaceSource
    from apiext.base.meta.encoding.json_codec import Object

_NAMESPACES: Final = "namespaces"


class Matcher:
    """Matches writes. It asks for a namespace only if everything else matches."""

    def __init__(self, namespaces: NamespaceSource) -> None:
        self._namespaces = namespaces

    async def match(self, criteria: MatchCriteria, attributes: Attributes, new: Object | None) -> EquivalentResource | None:
        """Return the resource and kind in which the criteria match a write, None if they do not match it.

        `new` is the new object as earlier plug-ins changed it, in any version.

        Raises:
            StatusError: the labels of the namespace are needed and unknown (404 for a missing one), or a selector is invalid (500).
            NotReadyError: the namespaces have not been listed in time.
        """
        found = match_objects(criteria, attributes, new)
        if found is None or not criteria.needs_namespace:
            return found
        if not await self._matches_namespace(criteria.namespace_selector, attributes, new):
            return None
        if isinstance(criteria.object_selector, ValueError):
            raise errors.internal(str(criteria.object_selector))
        return found

    async def _matches_namespace(self, selector: LabelSelector | ValueError, attributes: Attributes, new: Object | None) -> bool:
        if not attributes.namespace and attributes.resource.resource != _NAMESPACES:
            return True
        if isinstance(selector, ValueError):
            raise errors.internal(str(selector))
        return selector.empty or selector.matches(await self._namespace_labels(attributes, new))

    async def _namespace_labels(self, attributes: Attributes, new: Object | None) -> Mapping[str, str]:
        # a namespace that is written has its new labels
        is_written = attributes.operation in {AdmissionOperation.CREATE, AdmissionOperation.UPDATE}
        if is_written and attributes.resource.resource == _NAMESPACES and not attributes.subresource:
            return labels_of(new)
        if not attributes.namespace:
            raise errors.internal("resource name may not be empty")
        try:
            namespace = await self._namespaces.namespace(attributes.namespace)
        except errors.StatusError as error:
            raise errors.internal(error.message) from error
        if namespace is None:
            raise errors.not_found(GroupResource("", _NAMESPACES), attributes.namespace)
        return labels_of(namespace)


def match_objects(criteria: MatchCriteria, attributes: Attributes, new: Object | None) -> EquivalentResource | None:
    """Return what `Matcher.match` does, apart from what criteria that need a namespace say of it."""
    if criteria.excluded and _matched(criteria.excluded, criteria, attributes) is not None:
        return None
    found = attributes.own_resource if criteria.matches_all else _matched(criteria.rules, criteria, attributes)
    return found if found is not None and _matches_object(criteria.object_selector, attributes, new) else None


def _matched(rules: Sequence[Rule], criteria: MatchCriteria, attributes: Attributes) -> EquivalentResource | None:
    """Return the resource that the first matching rule names: the request's own if any rule does, else an equivalent one."""
    operation, name, namespace, subresource = attributes.operation, attributes.name, attributes.namespace, attributes.subresource
    for rule in rules:
        if rule.matches(attributes.resource, subresource, operation, namespace) and rule.includes_name(name):
            return attributes.own_resource
    if not criteria.equivalent:
        return None
    for rule in rules:
        for other in _equivalents(attributes):
            if rule.matches(other.resource, subresource, operation, namespace) and rule.includes_name(name):
                return other
    return None


def _equivalents(attributes: Attributes) -> Iterator[EquivalentResource]:
    if attributes.objects is not None:
        yield from (other for other in attributes.objects.equivalents() if other.resource != attributes.resource)


def _matches_object(selector: LabelSelector | ValueError, attributes: Attributes, new: Object | None) -> bool:
    """Return whether the labels of the new or the old object match. An invalid selector is reported later."""
    if isinstance(selector, ValueError) or selector.empty:
        return True
    return selects(selector, labels_of_objects(new, attributes.old))


def selects(selector: LabelSelector | ValueError, labels: Sequence[Mapping[str, str]]) -> bool:
    """Return whether a selector of objects matches the labels of any. An invalid selector is reported later."""
    return isinstance(selector, ValueError) or selector.empty or any(map(selector.matches, labels))


def labels_of_objects(*objects: Object | None) -> list[Mapping[str, str]]:
    """Return the labels of the objects that there are."""
    return [labels_of(obj) for obj in objects if obj is not None]


def labels_of(obj: Object | None) -> Mapping[str, str]:
    """Return the labels of an object; as in the reference, none if they are no map of strings."""
    metadata = (obj or {}).get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        return {}
    return labels
