"""What every verb takes from its request: who asks, for which object, with which admission."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.admission.attributes import Attributes, OperationName
from apiext.endpoints.request import INFO, USER, WARNINGS
from apiext.meta import errors
from apiext.registry.request_context import Operation, RequestContext

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.endpoints.handlers.scope import Scope
    from apiext.meta.json_codec import Object
    from apiext.registry.request_context import Admit

_NAMES: Final[dict[Operation, OperationName]] = {
    Operation.CREATE: "CREATE",
    Operation.UPDATE: "UPDATE",
    Operation.DELETE: "DELETE",
}


def request_context(request: web.BaseRequest) -> RequestContext:
    """The request as the registry sees it."""
    info = request[INFO]
    return RequestContext(user=request[USER], namespace=info.namespace, info=info, warnings=request[WARNINGS])


def required_name(request: web.BaseRequest) -> str:
    """The name in the path; raises StatusError (400) when there is none."""
    name = request[INFO].name
    if not name:
        raise errors.bad_request("name must be provided")
    return name


def match_namespace(scope: Scope, obj: Object, namespace: str) -> None:
    """Give the object the namespace of the request. Raises StatusError (400) when it names another.

    Mirrors EnsureObjectNamespaceMatchesRequestNamespace of apiserver pkg/registry/rest/meta.go.
    """
    expected = "" if scope.is_namespaces else namespace
    metadata = obj.get("metadata")
    named = metadata.get("namespace", "") if isinstance(metadata, dict) else ""
    if named == expected:
        return
    if not named:
        obj["metadata"] = {**(metadata or {}), "namespace": expected}
    elif not expected:
        obj["metadata"] = {key: member for key, member in (metadata or {}).items() if key != "namespace"}
    else:
        raise errors.bad_request("the namespace of the provided object does not match the namespace sent on the request")


def check_name(obj: Object, name: str) -> None:
    """Raises StatusError (400) unless the object has the name of the path."""
    named = (obj.get("metadata") or {}).get("name", "")
    if not named:
        raise errors.bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if named != name:
        raise errors.bad_request(f"the name of the object ({named}) does not match the name on the URL ({name})")


class Admitter:
    """Admission for one request."""

    __slots__ = ("_dry_run", "_name", "_namespace", "_request", "_scope")

    def __init__(self, request: web.BaseRequest, scope: Scope, *, name: str, dry_run: bool) -> None:
        self._request = request
        self._scope = scope
        self._name = name
        self._dry_run = dry_run
        namespace = request[INFO].namespace
        self._namespace = name if scope.is_namespaces and not namespace else namespace

    def _attributes(self, operation: Operation, new: Object | None, old: Object | None) -> Attributes:
        scope = self._scope
        return Attributes(
            operation=_NAMES[operation],
            kind=scope.kind,
            resource=scope.resource,
            user=self._request[USER],
            subresource=scope.subresource,
            namespace=self._namespace,
            name=self._name,
            new=new,
            old=old,
            dry_run=self._dry_run,
        )

    async def mutate(self, operation: Operation, new: Object, old: Object | None) -> Object:
        """Mutating admission: the object as it is to be from now on. Raises StatusError."""
        if not self._scope.admission.handles(operation):
            return new
        attributes = self._attributes(operation, new, old)
        await self._scope.admission.admit(attributes)
        return attributes.new if attributes.new is not None else new

    def validation(self, operation: Operation) -> Admit | None:
        """The hook for the registry; None when nobody cares about the operation (and the creation that an update may become)."""
        admission = self._scope.admission
        cares = admission.handles(operation) or (operation is Operation.UPDATE and admission.handles(Operation.CREATE))
        return self._validate if cares else None

    async def _validate(self, operation: Operation, new: Object | None, old: Object | None) -> None:
        admission = self._scope.admission
        if not admission.handles(operation):
            return
        attributes = self._attributes(operation, new, old)
        if operation is Operation.DELETE:
            await admission.admit(attributes)
        await admission.validate(attributes)
