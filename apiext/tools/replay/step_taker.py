"""Takes the steps of a plan on the replay's server, and checks that each gives what the plan says."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from apiext.tools.plan import stages
from apiext.tools.plan.plan import StepKind
from apiext.tools.plan.step_chain import manifest_of
from apiext.tools.releases.object_pages import object_key
from apiext.tools.replay.outcome import StepReplay
from apiext.tools.replay.server_client import MANAGER, RefusedError, for_each
from apiext.tools.replay.settling import PAUSE_SECONDS, wait_until_served

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.plan.plan import PlanStep
    from apiext.tools.replay.server_client import ServerClient

_SVM: Final = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
_MIGRATION_SECONDS: Final = 60.0
_MIGRATION_OBJECTS: Final = 100
"""Objects for which a migration may take a second longer."""
_NOT_FOUND: Final = 404


class StepTaker:
    """Takes the steps of one definition."""

    def __init__(self, server: ServerClient, name: str, objects: int) -> None:
        self._server = server
        self._name = name
        self._migration_seconds = _MIGRATION_SECONDS + objects / _MIGRATION_OBJECTS
        self._may_lack = False
        """Whether versions may have left status.storedVersions that the plan expects there until a later step."""

    async def take(self, step: PlanStep) -> StepReplay:
        """Take a step."""
        begin = time.perf_counter()
        try:
            problem = await self._take(step) or await self._check(step)
        except RefusedError as error:
            problem = f"the server refuses it: {error}"
        return StepReplay(step, time.perf_counter() - begin, problem)

    async def refusal(self, wanted: Object) -> str:
        """Return why the server refuses a definition at present, "" if it accepts it. Nothing is changed."""
        before = await self._server.definition(self._name)
        try:
            await self._server.patch_definition(self._name, manifest_of(wanted, before), dry_run=True)
        except RefusedError as error:
            return str(error)
        return ""

    async def keeping(self, version: str) -> str:
        """Return why the server refuses to drop a version at present, "" if it accepts that. Nothing is changed."""
        spec = (await self._server.definition(self._name)).object["spec"]
        versions = [one for one in spec["versions"] if one["name"] != version]
        try:
            await self._server.patch_definition(self._name, {"spec": {"versions": versions}}, dry_run=True)
        except RefusedError as error:
            return str(error)
        return ""

    async def forget_own(self, versions: Collection[str]) -> None:
        """Remove the updates of the replay itself in versions from managedFields, since their names would make applies fail later."""
        labels = {f"{(await self._server.definition(self._name)).group}/{name}" for name in versions}
        if labels:
            await self._forget(lambda entry: entry.get("manager") == MANAGER and entry.get("apiVersion") in labels)

    async def _take(self, step: PlanStep) -> str:
        """Take a step. Return why it cannot be taken."""
        if step.kind is StepKind.WEBHOOK:
            return ""
        if step.kind is StepKind.MIGRATE:
            return await self._migrate(step.manifest or {})
        if step.kind is StepKind.PRUNE:
            status = {"status": {"storedVersions": list(step.stored_versions)}}
            await self._server.patch_definition(self._name, status, subresource="status")
            return ""
        if step.kind is StepKind.REAPPLY:
            await self._forget(lambda entry: entry.get("apiVersion") == step.api_version)
            return ""
        if step.manifest is None:
            return "it needs a person"
        await self._server.patch_definition(self._name, step.manifest)
        return await wait_until_served(self._server, self._name)

    async def _check(self, step: PlanStep) -> str:
        """Return what differs from the plan after a step."""
        definition = await self._server.definition(self._name)
        state, stored = stages.state_of(definition.head["spec"]), list(definition.head["status"]["storedVersions"] or ())
        if step.state and state != step.state:
            return f"the versions are {state}, not {step.state}"
        wanted = list(step.stored_versions)
        # a migration removes the other versions itself; a plan for any server does that in a further step
        self._may_lack |= step.kind is StepKind.MIGRATE
        if stored != wanted and not (self._may_lack and step.kind is not StepKind.PRUNE and set(stored) <= set(wanted)):
            return f"status.storedVersions is {', '.join(stored)}, not {', '.join(wanted)}"
        return ""

    async def _migrate(self, migration: Object) -> str:
        """Store all objects in the storage version. Return why that failed."""
        path = f"{_SVM}/{migration['metadata']['name']}"
        try:
            await self._server.ask("DELETE", path)
        except RefusedError as error:
            if error.code != _NOT_FOUND:
                raise
        await self._server.ask("POST", _SVM, migration)
        end = time.monotonic() + self._migration_seconds
        while time.monotonic() < end:
            status = (await self._server.ask("GET", path)).get("status") or {}
            true = {one["type"]: str(one.get("message", "")) for one in status.get("conditions") or () if one["status"] == "True"}
            if "Succeeded" in true:
                return ""
            if "Failed" in true:
                return f"the migration fails: {true['Failed']}"
            await asyncio.sleep(PAUSE_SECONDS)
        return f"the migration does not end within {self._migration_seconds:.0f} s"

    async def _forget(self, is_forgotten: Callable[[Object], bool]) -> None:
        """Remove entries from the managedFields of all objects."""
        definition = await self._server.definition(self._name)
        served, storage = [version.name for version in definition.served_versions], definition.storage_version.name
        version = storage if storage in served else served[0]
        changed: dict[str, list[Any]] = {}
        async for page in self._server.pages(definition, version):
            for item in page:
                entries = item["metadata"].get("managedFields") or ()
                left = [entry for entry in entries if not is_forgotten(entry)]
                if len(left) < len(entries):
                    changed[object_key(item)] = left or [{}]

        async def patch(key: str) -> None:
            await self._server.patch(definition, version, key, {"metadata": {"managedFields": changed[key]}})

        await for_each(changed, patch)
