"""What expressions see of one write (apiserver pkg/admission/plugin/cel, CreateAdmissionRequest)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from apiext.base.meta.request import RequestInfo
from apiext.schema.cel.policies.authorization import AuthorizationAnswers
from apiext.schema.cel.policies.inputs import Inputs, RequestValue

if TYPE_CHECKING:
    from apiext.api.admission.attributes import Attributes
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource


class ExpressionInputs:
    """The values of variables for one write. What does not depend on objects is made once."""

    def __init__(self, attributes: Attributes) -> None:
        self._attributes = attributes
        self.answers = AuthorizationAnswers()
        """The answers of authorization checks."""
        resource = attributes.resource
        info = RequestInfo(
            group=resource.group,
            resource=resource.resource,
            subresource=attributes.subresource,
            namespace=attributes.namespace,
            name=attributes.name,
        )
        self._request_resource = self.answers.request_resource(attributes.user, info)
        self._requests: dict[tuple[GroupVersionKind, GroupVersionResource], dict[str, Any]] = {}

    def of(self, kind: GroupVersionKind, resource: GroupVersionResource, new: Object | None, old: Object | None) -> Inputs:
        """Return the values for a kind, a resource and objects of this kind, without parameters and namespace."""
        return Inputs(
            object=new,
            old_object=old,
            request=self._request(kind, resource),
            authorizer=self._request_resource.authorizer,
            request_resource=self._request_resource,
        )

    def _request(self, kind: GroupVersionKind, resource: GroupVersionResource) -> Callable[[], dict[str, Any]]:
        def make() -> dict[str, Any]:
            found = self._requests.get((kind, resource))
            if found is None:
                found = self._requests[kind, resource] = self._made(kind, resource)
            return found

        return make

    def _made(self, kind: GroupVersionKind, resource: GroupVersionResource) -> dict[str, Any]:
        attributes = self._attributes
        return RequestValue(
            operation=attributes.operation,
            kind=kind,
            resource=resource,
            request_kind=attributes.kind,
            request_resource=attributes.resource,
            user=attributes.user,
            subresource=attributes.subresource,
            name=attributes.name,
            namespace=attributes.namespace,
            dry_run=attributes.dry_run,
            options=None if attributes.options is None else attributes.options(),
        ).make()
