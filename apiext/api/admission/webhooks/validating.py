"""ValidatingAdmissionWebhook (apiserver pkg/admission/plugin/webhook/validating)."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apiext.api.admission.attributes import Admission, Attributes
from apiext.api.admission.sources import AdmissionPhase
from apiext.api.admission.webhooks.calls import HookCalls
from apiext.api.admission.webhooks.failures import HookCallError
from apiext.api.admission.webhooks.selection import HookSelection
from apiext.api.admission.webhooks.versioned_objects import FixedVersions
from apiext.base.meta.errors import StatusError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.api.admission.sources import AdmissionSources, HookEntry, ReviewAnswer, ReviewCall
    from apiext.api.admission.webhooks.invocation import HookInvocation
    from apiext.api.admission.webhooks.review_response import ReviewResponse


@dataclass(slots=True)
class _Outcome:
    """A webhook that a write concerns, with its call and what came of it."""

    invocation: HookInvocation
    call: ReviewCall | None = None
    response: ReviewResponse | None = None
    error: Exception | None = None
    seconds: float = 0.0


class ValidatingWebhooks(Admission):
    """Asks webhooks at the same time."""

    name = "ValidatingAdmissionWebhook"

    def __init__(self, sources: AdmissionSources) -> None:
        self._reviews = sources.reviews
        self._stats = sources.stats
        self._selection = HookSelection(sources, AdmissionPhase.VALIDATING)

    async def validate(self, attributes: Attributes) -> None:
        """Ask the webhooks that the write concerns, and wait for all of them.

        Raises:
            StatusError: a webhook denies the write, or could not be asked; the first of several errors decides.
        """
        entries = await self._selection.candidates(attributes)
        if not entries:
            return
        calls = HookCalls(AdmissionPhase.VALIDATING, attributes, self._stats)
        outcomes = await self._prepared(entries, attributes, calls)
        if not outcomes:
            return
        calls.check_deadline()
        asked = [outcome for outcome in outcomes if outcome.call is not None]
        begun = time.monotonic()
        try:
            answers = await self._reviews.review([outcome.call for outcome in asked if outcome.call is not None])
        except asyncio.CancelledError:
            # which of several have answered is not known
            if len(outcomes) == len(asked) == 1:
                calls.cut_off(asked[0].invocation, 0, time.monotonic() - begun)
            raise
        for outcome, answer in zip(asked, answers, strict=True):
            await _read(outcome, answer, calls)
        _conclude(outcomes, calls)
        # what failed open has used up the time
        calls.check_deadline()

    async def _prepared(self, entries: Sequence[HookEntry], attributes: Attributes, calls: HookCalls) -> list[_Outcome]:
        """Return the webhooks that the write concerns with their calls."""
        if attributes.objects is None:
            return []
        versions = FixedVersions(attributes, attributes.objects)
        outcomes: list[_Outcome] = []
        for entry in entries:
            invocation = await self._selection.invocation(entry, attributes, attributes.new, versions.get)
            if invocation is None:
                continue
            outcome = _Outcome(invocation)
            outcomes.append(outcome)
            objects = await versions.get(invocation.kind)
            try:
                outcome.call = calls.prepare(invocation, objects)
            except (HookCallError, StatusError) as error:
                outcome.error = error
        return outcomes


async def _read(outcome: _Outcome, answer: ReviewAnswer, calls: HookCalls) -> None:
    outcome.seconds = answer.seconds
    try:
        outcome.response = await calls.read(outcome.invocation, answer)
    except HookCallError as error:
        # the traceback refers to this frame, and so to the outcome
        outcome.error = error.with_traceback(None)


def _conclude(outcomes: Sequence[_Outcome], calls: HookCalls) -> None:
    """Take all responses in their order, then raise the error that was first."""
    failures: list[tuple[float, int, StatusError]] = []
    for number, outcome in enumerate(outcomes):
        _take(outcome, number, calls, failures)
    if failures:
        try:
            raise min(failures)[2]
        finally:
            failures.clear()  # the traceback refers to this frame


def _take(outcome: _Outcome, number: int, calls: HookCalls, failures: list[tuple[float, int, StatusError]]) -> None:
    """Take a response; an error that is not ignored becomes a failure with the time that the call took."""
    if outcome.response is not None:
        try:
            calls.accept(outcome.invocation, outcome.response)
        except StatusError as error:
            outcome.error = error
    calls.observe(outcome.invocation, outcome.seconds, outcome.error)
    if outcome.error is not None:
        try:
            calls.fail_open(outcome.invocation, number, outcome.error)
        except StatusError as error:
            failures.append((outcome.seconds, number, error.with_traceback(None)))
        outcome.error = None
