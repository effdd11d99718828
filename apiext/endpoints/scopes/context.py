"""The parts of a request that all verbs use: user, name, namespace, and admission."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aiohttp import web

from apiext.admission.attributes import Attributes
from apiext.authorization.authorizer import Decision, ReviewError
from apiext.endpoints.request import AUTHORIZE, INFO, USER, WARNINGS
from apiext.endpoints.scopes.scope import Scope
from apiext.meta import errors
from apiext.meta.encoding.json_codec import Object
from apiext.meta.request import AdmissionOperation, UserInfo
from apiext.registry.request_context import Admit, RequestContext


def request_context(request: web.BaseRequest) -> RequestContext:
    """Return the request's context for the registry."""
    info = request[INFO]
    return RequestContext(namespace=info.namespace, subresource=info.subresource, warnings=request[WARNINGS])


def required_name(request: web.BaseRequest) -> str:
    """Return the name in the path.

    Raises:
        StatusError: 400 if there is none.
    """
    name = request[INFO].name
    if not name:
        raise errors.bad_request("name must be provided")
    return name


async def authorize_create(request: web.BaseRequest, scope: Scope) -> None:
    """Check that the user may create the object that an apply or an update did not find.

    Raises:
        StatusError: 403 if the user may not, 500 if the authorizer fails.
    """
    info = replace(request[INFO], verb="create")
    try:
        verdict = await request[AUTHORIZE](request[USER], info)
    except ReviewError as error:
        raise errors.internal(str(error)) from error
    if verdict.decision is not Decision.ALLOW:
        raise errors.forbidden(scope.resource.group_resource, info.name, verdict.reason)


def match_namespace(scope: Scope, obj: Object, namespace: str) -> None:
    """Set the object's namespace to that of the request.

    Mirrors EnsureObjectNamespaceMatchesRequestNamespace of apiserver pkg/registry/rest/meta.go.

    Raises:
        StatusError: 400 if the object has another namespace.
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
    """Check that the object has the name in the path.

    Raises:
        StatusError: 400 if it has another name or none.
    """
    named = (obj.get("metadata") or {}).get("name", "")
    if not named:
        raise errors.bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if named != name:
        raise errors.bad_request(f"the name of the object ({named}) does not match the name on the URL ({name})")


@dataclass(slots=True, eq=False)
class Admitter:
    """Admission of one request."""

    _scope: Scope
    _user: UserInfo
    _namespace: str
    name: str
    dry_run: bool

    def _attributes(self, operation: AdmissionOperation, new: Object | None, old: Object | None) -> Attributes:
        scope, namespace = self._scope, self._namespace
        return Attributes(
            operation=operation,
            kind=scope.kind,
            resource=scope.resource,
            user=self._user,
            subresource=scope.subresource,
            namespace=self.name if not namespace and scope.is_namespaces else namespace,
            name=self.name,
            new=new,
            old=old,
            dry_run=self.dry_run,
        )

    async def mutate(self, operation: AdmissionOperation, new: Object, old: Object | None) -> Object:
        """Run mutating admission and return the new object.

        Raises:
            StatusError: admission rejected the request or failed.
        """
        if not self._scope.admission.handles(operation):
            return new
        attributes = self._attributes(operation, new, old)
        await self._scope.admission.admit(attributes)
        return attributes.new if attributes.new is not None else new

    def validation(self, operation: AdmissionOperation) -> Admit | None:
        """Return the registry's validation hook, None if no plugin handles the operation (or the creation that an update may become)."""
        admission = self._scope.admission
        handled = admission.handles(operation) or (operation is AdmissionOperation.UPDATE and admission.handles(AdmissionOperation.CREATE))
        return self._validate if handled else None

    async def _validate(self, operation: AdmissionOperation, new: Object | None, old: Object | None) -> None:
        admission = self._scope.admission
        if not admission.handles(operation):
            return
        attributes = self._attributes(operation, new, old)
        if operation is AdmissionOperation.DELETE:
            await admission.admit(attributes)
        await admission.validate(attributes)
