"""MutatingAdmissionWebhook (apiserver pkg/admission/plugin/webhook/mutating)."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from apiext.api.admission.attributes import Admission, Attributes
from apiext.api.admission.sources import AdmissionPhase
from apiext.api.admission.webhooks.audit import annotate_mutation, annotate_patch
from apiext.api.admission.webhooks.calls import HookCalls
from apiext.api.admission.webhooks.failures import HookCallError
from apiext.api.admission.webhooks.patching import UndecodablePatchError, is_changed, patched
from apiext.api.admission.webhooks.selection import HookSelection
from apiext.api.admission.webhooks.versioned_objects import ChangingVersions
from apiext.base.meta import errors
from apiext.base.meta.errors import StatusError

if TYPE_CHECKING:
    from apiext.api.admission.attributes import PluginReinvocation
    from apiext.api.admission.object_interfaces import ObjectInterfaces
    from apiext.api.admission.sources import AdmissionSources, HookEntry
    from apiext.api.admission.webhooks.invocation import HookInvocation


class MutatingWebhooks(Admission):
    """Asks webhooks one after the other; each gets the object as the earlier ones have changed it."""

    name = "MutatingAdmissionWebhook"

    def __init__(self, sources: AdmissionSources) -> None:
        self._sources = sources
        self._selection = HookSelection(sources, AdmissionPhase.MUTATING)

    async def admit(self, attributes: Attributes) -> None:
        """Ask the webhooks that the write concerns, and apply their patches.

        Raises:
            StatusError: a webhook denies the write, or could not be asked; or the changed object is invalid.
        """
        entries = await self._selection.candidates(attributes)
        if not entries or attributes.objects is None:
            return
        state = attributes.reinvocation.of(self.name)
        if attributes.reinvocation.runs_again:
            state.begin_second_run(attributes.new)
        run = _Run(self._sources, self._selection, attributes, attributes.objects, state)
        for entry in entries:
            await run.dispatch(entry)
        await run.versions.finish()
        state.end_run(attributes.new)


class _Run:
    """One run of all webhooks for one write."""

    def __init__(
        self,
        sources: AdmissionSources,
        selection: HookSelection,
        attributes: Attributes,
        objects: ObjectInterfaces,
        state: PluginReinvocation,
    ) -> None:
        self._reviews = sources.reviews
        self._selection = selection
        self._attributes = attributes
        self._objects = objects
        self._state = state
        self._calls = HookCalls(AdmissionPhase.MUTATING, attributes, sources.stats)
        self.versions = ChangingVersions(attributes, objects)

    async def dispatch(self, entry: HookEntry) -> None:
        """Ask a webhook if the write concerns it."""
        attributes, state = self._attributes, self._state
        is_done = attributes.reinvocation.runs_again and entry.uid not in state.due
        if is_done and not self._selection.may_fail(entry):
            return
        invocation = await self._selection.invocation(entry, attributes, self.versions.new, self.versions.get)
        if invocation is None or is_done:
            return
        begun, changed, failure = time.monotonic(), False, None
        try:
            changed = await self._call(invocation)
        except (HookCallError, StatusError) as error:
            failure = error
        except asyncio.CancelledError:
            annotate_mutation(attributes, invocation.hook, mutated=False)
            self._calls.cut_off(invocation, entry.number, time.monotonic() - begun)
            raise
        annotate_mutation(attributes, invocation.hook, mutated=changed)
        self._calls.observe(invocation, time.monotonic() - begun, failure)
        if changed:
            state.object_changed()
            attributes.reinvocation.is_required = True
        if invocation.hook.reinvocable:
            state.called(entry.uid)
        if failure is not None:
            try:
                self._calls.fail_open(invocation, entry.number, failure)
            finally:
                del failure  # its traceback refers to this frame
            self._calls.check_deadline()

    async def _call(self, invocation: HookInvocation) -> bool:
        """Ask a webhook, and return whether its patch has changed the object."""
        objects = await self.versions.get(invocation.kind)
        call = self._calls.prepare(invocation, objects)
        (answer,) = await self._reviews.review([call])
        response = await self._calls.read(invocation, answer)
        self._calls.accept(invocation, response)
        name, before = invocation.hook.name, objects.new
        try:
            after = await patched(name, response, objects)
        except UndecodablePatchError as error:
            raise HookCallError(name, str(error), 503) from error
        if after is None:
            return False
        changed = is_changed(before, after)
        annotate_patch(self._attributes, invocation.hook, response.patch)
        try:
            self.versions.replace(await self._objects.complete(after))
        except ValueError as error:
            raise errors.internal(str(error)) from error
        return changed
