"""Scenarios: steps that write and read objects in several versions, and replace the definition by later releases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from apiext.tools.replay.server_client import RefusedError
from apiext.tools.suites.case_run import CallAnswer, CaseFailure, answer_of, check_error, check_object, expected_form, stable_text
from apiext.tools.suites.installed_definition import DefinitionError, as_sent, with_webhook
from apiext.tools.suites.model import CaseOutcome, CaseResult
from apiext.tools.suites.objects import NAMESPACE, CaseObjectError, metadata_of, named_as, parse_object
from apiext.tools.suites.resource_client import MANAGER, ClientError, ResourceClient
from apiext.tools.suites.suite_manifests import read_definition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.replay.server_client import ServerClient
    from apiext.tools.suites.installed_definition import InstalledDefinition

STEPS: Final = ("create", "update", "apply", "get", "delete", "release", "storedVersions", "storedVersion", "conversion")
"""The members of which a step has one."""


class Scenario:
    """Takes the steps of one scenario, on a definition of its own."""

    def __init__(self, server: ServerClient, installed: InstalledDefinition, job: Mapping[str, Any]) -> None:
        self._server = server
        self._installed = installed
        self._job = job
        self._causes: list[tuple[str, str]] = []
        self._steps: dict[str, Callable[[Object, Any], Awaitable[CallAnswer]]] = {
            "create": self._create,
            "update": self._update,
            "apply": self._apply,
            "get": self._get,
            "delete": self._delete,
            "release": self._release,
            "conversion": self._convert,
            "storedVersion": self._stored_version,
            "storedVersions": self._stored_versions,
        }

    async def run(self, crd: Object, spec: Object) -> CaseResult:
        """Install a definition anew, and take the steps until one fails."""
        await self._installed.remove()
        await self._installed.install(crd)
        self._name = crd["metadata"]["name"]
        self._use(crd)
        result = CaseResult(CaseOutcome.PASSED)
        for index, step in enumerate(spec["steps"]):
            verb = next(name for name in STEPS if name in step)
            try:
                await self._take(verb, step)
            except CaseFailure as error:
                correction = {"step": index, **self._correction} if self._correction else {}
                text = f"step {index + 1} ({verb}): {error}"
                result = CaseResult(CaseOutcome.FAILED, text, error.expected, error.found, correction=correction)
                break
        await self._installed.remove()
        result.refusals = [{"field": field, "message": message} for field, message in self._causes]
        return result

    def _use(self, crd: Object) -> None:
        self._client = ResourceClient(self._server, crd)
        self._storage = next((each["name"] for each in crd["spec"]["versions"] if each.get("storage")), "")

    async def _take(self, verb: str, step: Object) -> None:
        """Take a step, and compare what becomes of it with what is expected. Raise CaseFailure."""
        self._correction: Object = {}
        try:
            answer = await self._steps[verb](step, step[verb])
        except (CaseObjectError, ClientError) as error:
            answer = CallAnswer({}, str(error), getattr(error, "causes", []))
        self._causes += answer.causes
        if step.get("expectedError"):
            self._correction = {"expectedError": stable_text(answer.error)} if answer.error else {}
            check_error(answer.error, step["expectedError"], "expectedError")
        elif answer.error:
            self._correction = {"expectedError": stable_text(answer.error)}
            raise CaseFailure(f"unexpected error: {answer.error}")
        elif verb == "storedVersions":
            self._check_versions(verb, step[verb], answer.object.get("status", {}).get("storedVersions") or [])
        elif verb == "storedVersion":
            self._check_versions("expected", step.get("expected"), str(answer.object["apiVersion"]).rpartition("/")[2])
        elif step.get("expected") is not None:
            self._check(step["expected"], answer.object)

    def _check(self, given: Any, found: Object) -> None:
        try:
            expected = parse_object(given)
            metadata = metadata_of(expected)
        except CaseObjectError as error:
            raise CaseFailure(f"expected: {error}") from error
        self._correction = {"expected": expected_form(found, expected)}
        # names are compared if they are given
        wanted = expected | {"metadata": named_as(expected, found)["metadata"] | metadata}
        check_object(wanted, found)

    async def _create(self, step: Object, given: Any) -> CallAnswer:
        return await answer_of(self._client.create(_named(parse_object(given)), manager=_manager(step)))

    async def _update(self, step: Object, given: Any) -> CallAnswer:
        obj = _named(parse_object(given))
        metadata = metadata_of(obj)
        if not metadata.get("resourceVersion"):
            metadata["resourceVersion"] = (await self._client.get(obj))["metadata"]["resourceVersion"]
        return await answer_of(self._client.update(obj, subresource=step.get("subresource") or "", manager=_manager(step)))

    async def _apply(self, step: Object, given: Any) -> CallAnswer:
        obj, subresource = _named(parse_object(given)), step.get("subresource") or ""
        return await answer_of(self._client.apply(obj, subresource=subresource, manager=_manager(step), force=bool(step.get("force"))))

    async def _get(self, step: Object, given: Object) -> CallAnswer:
        return await answer_of(self._client.get(self._reference(given), subresource=step.get("subresource") or ""))

    async def _delete(self, step: Object, given: Object) -> CallAnswer:
        return await answer_of(self._client.delete(self._reference(given)))

    async def _release(self, step: Object, given: str) -> CallAnswer:
        crd = with_webhook(read_definition(Path(self._job["folder"]) / given, self._name), self._job["conversion"])
        try:
            answer = await self._installed.replace(self._name, as_sent(crd)["spec"])
        except DefinitionError as error:
            return CallAnswer({}, str(error), [])
        self._use(answer)
        return CallAnswer(answer, "", [])

    async def _convert(self, step: Object, given: Object) -> CallAnswer:
        created = await answer_of(self._client.create(_named(parse_object(given["object"])), manager=_manager(step)))
        if created.error:
            return created
        metadata = created.object["metadata"]
        answer = await answer_of(self._client.get(self._client.reference(given["to"], metadata["name"], metadata.get("namespace", ""))))
        await self._client.delete(created.object)
        return answer

    async def _stored_versions(self, step: Object, given: Any) -> CallAnswer:
        return CallAnswer(await self._installed.current(self._name), "", [])

    async def _stored_version(self, step: Object, given: Object) -> CallAnswer:
        inner = f"{quote(given.get('namespace') or NAMESPACE)}/" if self._client.namespaced else ""
        try:
            return CallAnswer(await self._server.ask("GET", f"/stored/objects/{self._name}/{inner}{quote(given['name'])}"), "", [])
        except RefusedError as error:
            return CallAnswer({}, str(error), error.causes)

    def _check_versions(self, member: str, expected: Any, found: Any) -> None:
        if found != expected:
            self._correction = {member: found}
            what = "the object is stored in another version" if isinstance(found, str) else "status.storedVersions differs"
            raise CaseFailure(f"{what}\n- {_joined(expected)}\n+ {_joined(found)}")

    def _reference(self, given: Object) -> Object:
        return self._client.reference(given.get("version") or self._storage, given["name"], given.get("namespace") or "")


def _named(obj: Object) -> Object:
    """Return an object in the namespace `default` unless it names another, with a generated name unless it has one."""
    metadata = metadata_of(obj)
    metadata.setdefault("namespace", NAMESPACE)
    if not metadata.get("name"):
        metadata.setdefault("generateName", "test-")
    return obj


def _joined(versions: Any) -> str:
    return ", ".join(versions) if isinstance(versions, list) else str(versions)


def _manager(step: Object) -> str:
    return str(step.get("fieldManager") or MANAGER)
