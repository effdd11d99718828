"""The parts of a request that all verbs use: user, name, namespace, and admission.

Admitted managers: apiserver pkg/endpoints/handlers/fieldmanager/admission.go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from apiext.api.admission.attributes import Attributes
from apiext.api.admission.metrics import ADMIT, VALIDATE
from apiext.api.admission.sources import RequestPlace
from apiext.api.authorization.authorizer import Decision, ReviewError
from apiext.api.endpoints.parameters.operation_options import operation_options, pinned_options
from apiext.api.endpoints.request import AUTHORIZE, INFO, USER, WARNINGS
from apiext.api.endpoints.scopes.scope import Scope
from apiext.base.meta import errors
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.request import AdmissionOperation
from apiext.resources.managedfields import managers
from apiext.resources.registry.request_context import Admit, RequestContext

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.write_call import WriteCall


_INVALID: Final = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; "
    "please fix your requests: "
)


def keep_valid_managers(obj: Object, before: Any, warnings: list[str]) -> None:
    """Give an admitted object the managedFields from before admission, and warn, if those that plug-ins have set are invalid.

    The object gets a new metadata; nothing else changes.
    """
    metadata = obj.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        # the reference reads no entries from other values, which are dropped when the object is written
        return
    try:
        managers.decode(entries)
    except ValueError as error:
        warnings.append(f"{_INVALID}{error}")
        kept = {name: member for name, member in metadata.items() if name != "managedFields"}
        obj["metadata"] = kept if before is None else {**kept, "managedFields": before}


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
    """Admission of one write."""

    _scope: Scope
    _call: WriteCall
    name: str
    """The name in the path, otherwise that of the created object; empty for a deletecollection and before the server generates one."""

    def _place(self, operation: AdmissionOperation) -> RequestPlace:
        resource = self._scope.resource
        return RequestPlace(resource.group, resource.resource, self._scope.subresource, operation)

    def _attributes(self, place: RequestPlace, new: Object | None, old: Object | None) -> Attributes:
        scope, call = self._scope, self._call
        namespace, record = call.namespace, call.record
        more: dict[str, Any] = {}
        if record is not None:
            more = {"annotations": record.annotations, "latencies": record.latencies, "shows_patches": record.with_body}
        return Attributes(
            operation=place.operation,
            kind=scope.kind,
            resource=scope.resource,
            user=call.user,
            subresource=scope.subresource,
            namespace=self.name if not namespace and scope.is_namespaces else namespace,
            name=self.name,
            new=new,
            old=old,
            dry_run=bool(call.query.dry_run),
            options=partial(operation_options, place.operation, call.query),
            objects=scope.objects,
            warnings=call.warnings,
            deadline=call.deadline,
            place=place,
            **more,
        )

    async def mutate(self, operation: AdmissionOperation, new: Object, old: Object | None) -> Object:
        """Run mutating admission and return the new object, with valid managedFields.

        Raises:
            StatusError: admission rejected the request or failed.
        """
        admission, place = self._scope.admission, self._place(operation)
        if admission.admits_unseen(ADMIT, place):
            return new
        attributes = self._attributes(place, new, old)
        managers = _managers(new)
        await admission.admit(attributes)
        admitted = attributes.new if attributes.new is not None else new
        if _managers(admitted) is not managers:
            keep_valid_managers(admitted, managers, self._call.warnings)
        return admitted

    def reads_deleted(self) -> bool:
        """Return whether plug-ins may need more of an object that is deleted than its metadata."""
        dynamic = self._scope.admission.dynamic
        return dynamic is not None and dynamic.may_apply(self._place(AdmissionOperation.DELETE))

    def validation(self, operation: AdmissionOperation) -> Admit | None:
        """Return the registry's validation hook, None if no plugin handles the operation (or the creation that an update may become)."""
        admission = self._scope.admission
        handled = admission.handles(operation) or (operation is AdmissionOperation.UPDATE and admission.handles(AdmissionOperation.CREATE))
        if not handled:
            return None
        return self._delete if operation is AdmissionOperation.DELETE else self._validate

    async def _validate(self, operation: AdmissionOperation, new: Object | None, old: Object | None) -> None:
        admission, place = self._scope.admission, self._place(operation)
        if admission.admits_unseen(VALIDATE, place):
            return
        attributes = self._attributes(place, new, old)
        if new is not None and not attributes.name:
            # the name has been generated meanwhile
            attributes.name = str((new.get("metadata") or {}).get("name", ""))
        await admission.validate(attributes)

    async def _delete(self, operation: AdmissionOperation, new: Object | None, old: Object | None) -> None:
        """Run both phases of admission."""
        admission, place = self._scope.admission, self._place(operation)
        unseen = [admission.admits_unseen(phase, place) for phase in (ADMIT, VALIDATE)]
        if all(unseen):
            return
        attributes = self._attributes(place, new, old)
        if self._scope.dialect.pins_deleted and old is not None:
            attributes.options = partial(pinned_options, self._call.query, old["metadata"].get("uid", ""))
        if not unseen[0]:
            await admission.admit(attributes)
        if not unseen[1]:
            await admission.validate(attributes)


def _managers(obj: Object) -> Any:
    """Return metadata.managedFields, None if there are none."""
    metadata = obj.get("metadata")
    return metadata.get("managedFields") if isinstance(metadata, dict) else None
