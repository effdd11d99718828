"""What policies see of one write: objects in their versions, and the values of variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from apiext.api.admission.attributes import not_ready
from apiext.api.admission.expression_inputs import ExpressionInputs
from apiext.api.admission.sources import NotReadyError
from apiext.base.meta import errors
from apiext.base.meta.gvk import GroupResource, GroupVersionKind
from apiext.schema.cel.policies.authorization import AuthorizationAnswers
from apiext.schema.cel.policies.inputs import Inputs, shown_namespace

if TYPE_CHECKING:
    from apiext.api.admission.attributes import Attributes
    from apiext.api.admission.object_interfaces import EquivalentResource
    from apiext.api.admission.sources import NamespaceSource
    from apiext.base.meta.encoding.json_codec import Object


class PolicyRequest:
    """One write. Objects, namespace and answers of authorization checks are got once."""

    def __init__(self, attributes: Attributes, namespaces: NamespaceSource) -> None:
        self.attributes = attributes
        self._values = ExpressionInputs(attributes)
        self._namespaces = namespaces
        self._namespace: list[dict[str, Any] | None] = []
        self._plain: tuple[EquivalentResource, Inputs] | None = None
        """The latest values without parameters, with their resource."""
        self._old: dict[GroupVersionKind, Object | None] = {}

    @property
    def answers(self) -> AuthorizationAnswers:
        """Return the answers of authorization checks."""
        return self._values.answers

    async def versioned(self, obj: Object | None, kind: GroupVersionKind) -> Object | None:
        """Return an object in the version of a kind.

        Raises:
            ValueError: it cannot be converted.
        """
        objects = self.attributes.objects
        return obj if obj is None or objects is None or kind == self.attributes.kind else await objects.convert(obj, kind)

    async def old(self, kind: GroupVersionKind) -> Object | None:
        """Return the old object in the version of a kind.

        Raises:
            ValueError: it cannot be converted.
        """
        if kind not in self._old:
            self._old[kind] = await self.versioned(self.attributes.old, kind)
        return self._old[kind]

    async def namespace(self) -> Mapping[str, Any] | None:
        """Return what `namespaceObject` is; None for resources without a namespace, and for namespaces themselves.

        Raises:
            StatusError: there is no such namespace (404), it is not known yet (403), or its lookup failed.
        """
        if not self._namespace:
            self._namespace.append(shown_namespace(await self._find_namespace()))
        return self._namespace[0]

    async def _find_namespace(self) -> Object | None:
        attributes = self.attributes
        kind, name = attributes.kind, attributes.namespace
        if not name or kind == GroupVersionKind("", "v1", "Namespace"):
            return None
        try:
            found = await self._namespaces.namespace(name)
        except NotReadyError as error:
            raise not_ready(attributes) from error
        if found is None:
            raise errors.not_found(GroupResource("", "namespaces"), name)
        return found

    def inputs(
        self,
        matched: EquivalentResource,
        new: Object | None,
        old: Object | None,
        params: Object | None,
        namespace: Mapping[str, Any] | None,
    ) -> Inputs:
        """Return the values of variables for the resource and kind that a rule has matched, and for objects of this kind."""
        if params is None and self._plain is not None:
            of, known = self._plain
            if of is matched and known.object is new and known.old_object is old and known.namespace is namespace:
                return known
        values = self._values.of(matched.kind, matched.resource, new, old)
        values.params, values.namespace = params, namespace
        if params is None:
            self._plain = matched, values
        return values

    def condition_inputs(self, matched: EquivalentResource, values: Inputs) -> Inputs:
        """Return the values of variables for match conditions: no namespace, and the resource of the request."""
        found = self._values.of(matched.kind, self.attributes.resource, values.object, values.old_object)
        found.params = values.params
        return found
