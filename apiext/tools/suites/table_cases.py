"""The cases onCreate and onUpdate, request by request as the runner of openshift/api (tests/generator.go) makes them."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_values
from apiext.tools.suites.case_run import CaseFailure, CaseObservation, answer_of, failed, judge
from apiext.tools.suites.installed_definition import DefinitionError, patched_spec
from apiext.tools.suites.model import CaseKind, CaseOutcome, CaseResult
from apiext.tools.suites.objects import CaseObjectError, case_object, metadata_of, parse_object
from apiext.tools.suites.resource_client import ClientError

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.suites.case_run import CallAnswer
    from apiext.tools.suites.installed_definition import InstalledDefinition
    from apiext.tools.suites.resource_client import ResourceClient

_SENTINEL: Final = "sentinel"
"""A property by which the other runner sees that a schema is served. Its writes may be refused, so they are made here, too."""


class TableCases:
    """Runs cases about one installed definition, one after the other."""

    def __init__(self, client: ResourceClient, installed: InstalledDefinition, manifest: Object, crd: Object) -> None:
        """Take the manifest as in its file, and the definition that is installed."""
        self._client = client
        self._installed = installed
        self._manifest = manifest
        self._crd = crd
        self._written: list[Object] = []
        self._causes: list[tuple[str, str]] = []

    async def run(self, kind: CaseKind, spec: Object) -> CaseResult:
        """Run a case, and delete its objects."""
        self._written, self._causes = [], []
        try:
            seen = await (self._create_once(spec) if kind is CaseKind.ON_CREATE else self._create_and_update(spec))
            result = _verdict(spec, seen)
        except CaseFailure as error:
            result = failed(error)
        except (CaseObjectError, DefinitionError) as error:
            result = CaseResult(CaseOutcome.FAILED, str(error))
        for obj in self._written:
            # an object that is gone, or not served, needs no deletion
            with contextlib.suppress(ClientError):
                await self._client.purge(obj)
        return replace(result, refusals=[{"field": field, "message": message} for field, message in self._causes])

    async def _create_once(self, spec: Object) -> CaseObservation:
        created = await self._create(case_object(spec.get("initial")))
        if created.error:
            return CaseObservation(error=created.error)
        return CaseObservation(object=await self._read(created.object))

    async def _create_and_update(self, spec: Object) -> CaseObservation:
        initial, patches = case_object(spec.get("initial")), spec.get("initialCRDPatches")
        first = await (self._under_patched_definition(patches, initial) if patches else self._initial(initial))
        current = (await self._read(first)).get("metadata") or {}
        updated = case_object(spec.get("updated"))
        status = json_values.copy(updated.get("status"))
        metadata = metadata_of(updated)
        for name in ("name", "namespace", "resourceVersion"):
            metadata.pop(name, None)
            if name in current:
                metadata[name] = current[name]
        answer = self._noted(await answer_of(self._client.update(updated)))
        if answer.error:
            return CaseObservation(error=answer.error)
        if status is not None:
            answer = self._noted(await answer_of(self._client.update(answer.object | {"status": status}, subresource="status")))
            if answer.error:
                return CaseObservation(status_error=answer.error, has_status=True)
        return CaseObservation(object=await self._read(first), has_status=status is not None)

    async def _initial(self, obj: Object) -> Object:
        """Create the initial object, and its status through the subresource. Return the answer. Raise CaseFailure."""
        status = json_values.copy(obj.get("status"))
        answer = await self._create(obj)
        if answer.error:
            raise CaseFailure(f"the initial object is refused: {answer.error}")
        if status is not None:
            answer = self._noted(await answer_of(self._client.update(answer.object | {"status": status}, subresource="status")))
            if answer.error:
                raise CaseFailure(f"the status of the initial object is refused: {answer.error}")
        return answer.object

    async def _under_patched_definition(self, patches: Any, initial: Object) -> Object:
        """Create the initial object while the definition is patched, then restore the definition. Raise CaseFailure."""
        uid, is_restored = metadata_of(initial).get("uid", ""), False
        try:
            value = f"{uid}+patched"
            await self._replace(_with_sentinel(patched_spec(self._manifest, patches), value), "the patched CRD is refused")
            first = await self._initial(initial | {_SENTINEL: value})
            value = f"{first['metadata']['uid']}+restored"
            # the sentinel stays, as with the other runner
            await self._replace(_with_sentinel(self._crd["spec"], value), "the restored CRD is refused")
            is_restored = True
            answer = self._noted(await answer_of(self._client.update(first | {_SENTINEL: value})))
        finally:
            if not is_restored:
                await self._replace(self._crd["spec"], "the restored CRD is refused")
            self._installed.restored(self._crd)
        if answer.error:
            raise CaseFailure(f"the initial object is refused after the CRD is restored: {answer.error}")
        return first

    async def _replace(self, spec: Object, what: str) -> None:
        try:
            await self._installed.replace(self._crd["metadata"]["name"], spec)
        except DefinitionError as error:
            raise CaseFailure(f"{what}: {error}") from error

    async def _read(self, obj: Object) -> Object:
        """Return an object as it is read; an empty one if it is not: the other runner ignores that, too."""
        return (await answer_of(self._client.get(obj))).object

    async def _create(self, obj: Object) -> CallAnswer:
        answer = self._noted(await answer_of(self._client.create(obj)))
        if answer.object:
            self._written.append(answer.object)
        return answer

    def _noted(self, answer: CallAnswer) -> CallAnswer:
        self._causes += answer.causes
        return answer


def _verdict(spec: Object, seen: CaseObservation) -> CaseResult:
    try:
        judge(spec, seen, case_object)
    except CaseFailure as error:
        try:
            given = parse_object(spec.get("expected") or spec.get("updated") or spec.get("initial"))
        except CaseObjectError:
            given = {}
        return failed(error, seen.correction(given))
    return CaseResult(CaseOutcome.PASSED)


def _with_sentinel(spec: Object, value: str) -> Object:
    """Return the spec of a definition whose first version has the sentinel, with one value."""
    found: Object = json_values.copy(spec)
    schema = found["versions"][0]["schema"]["openAPIV3Schema"]
    schema.setdefault("properties", {})[_SENTINEL] = {"type": "string", "enum": [value]}
    return found
