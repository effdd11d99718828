"""Calls of webhooks about a write, and their outcomes (callHook of apiserver plugin/webhook/validating/dispatcher.go).

Review request: apiserver plugin/webhook/request/admissionreview.go.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from apiext.api.admission.metrics import ADMIT
from apiext.api.admission.sources import AdmissionPhase, ReviewCall
from apiext.api.admission.webhooks.audit import annotate_answer, annotate_failure
from apiext.api.admission.webhooks.failures import DenialError, HookCallError, denial, no_dry_run
from apiext.api.admission.webhooks.review_response import InvalidResponseError, ReviewResponse, read_response
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.limits import MAX_INLINE_BYTES, MAX_REVIEW_BYTES
from apiext.base.meta.log import get_logger
from apiext.base.random_uuid import random_uuid
from apiext.base.scheduling.inline_work import current_work
from apiext.base.scheduling.side_thread import aside
from apiext.base.webhook.hook_answers import HookError
from apiext.base.webhook.review_type import HookReviewError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from apiext.api.admission.attributes import Attributes
    from apiext.api.admission.metrics import AdmissionStats
    from apiext.api.admission.sources import ReviewAnswer
    from apiext.api.admission.webhooks.invocation import HookInvocation
    from apiext.api.admission.webhooks.versioned_objects import VersionedObjects
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource
    from apiext.base.meta.request import UserInfo

_LOG: Final = get_logger(__name__)
_UNKNOWN_VERSIONS: Final = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
_METRIC_TYPES: Final = {AdmissionPhase.MUTATING: ADMIT, AdmissionPhase.VALIDATING: "validating"}

_KEPT_PLACES: Final = 1024


def encode_review(version: str, uid: str, attributes: Attributes, invocation: HookInvocation, objects: VersionedObjects) -> bytes:
    """Return the review that asks a webhook about a write. Its members have the reference's order, and both versions are alike."""
    request: Object = {"name": attributes.name} if attributes.name else {}
    if attributes.namespace:
        request["namespace"] = attributes.namespace
    request["operation"] = attributes.operation
    request["userInfo"] = _user(attributes.user)
    request["object"] = objects.new
    request["oldObject"] = objects.old
    request["dryRun"] = attributes.dry_run
    request["options"] = None if attributes.options is None else attributes.options()
    place = _place(invocation.kind, invocation.resource, attributes.kind, attributes.resource, attributes.subresource)
    head = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/%b","request":{"uid":"%b",%b,'
    members = memoryview(json_codec.dumps(request, sort_keys=False))[1:]
    return b"".join((head % (version.encode(), uid.encode(), place), members, b"}\n"))


@lru_cache(_KEPT_PLACES)
def _place(
    kind: GroupVersionKind,
    resource: GroupVersionResource,
    request_kind: GroupVersionKind,
    request_resource: GroupVersionResource,
    subresource: str,
) -> bytes:
    """Return the members that are the same for all writes of a resource, without braces."""
    own = {"subResource": subresource} if subresource else {}
    request = {"requestSubResource": subresource} if subresource else {}
    members = {
        "kind": _kind(kind),
        "resource": _resource(resource),
        **own,
        "requestKind": _kind(request_kind),
        "requestResource": _resource(request_resource),
        **request,
    }
    return json_codec.dumps(members, sort_keys=False)[1:-1]


def _kind(kind: GroupVersionKind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: GroupVersionResource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "resource": resource.resource}


def _user(user: UserInfo) -> dict[str, Any]:
    members: dict[str, Any] = {"username": user.name} if user.name else {}
    if user.uid:
        members["uid"] = user.uid
    if user.groups:
        members["groups"] = list(user.groups)
    if user.extra:
        members["extra"] = {key: list(values) for key, values in user.extra.items()}
    return members


@dataclass(frozen=True, slots=True)
class HookCalls:
    """The calls of the webhooks of a phase about one write."""

    phase: AdmissionPhase
    attributes: Attributes
    stats: AdmissionStats

    def prepare(self, invocation: HookInvocation, objects: VersionedObjects) -> ReviewCall:
        """Return the call of a webhook.

        Raises:
            HookCallError: it cannot be made.
            StatusError: 400, it has side effects and the write is a dry run.
        """
        hook, attributes = invocation.hook, self.attributes
        if attributes.dry_run and not hook.supports_dry_run:
            raise no_dry_run(hook.name)
        if hook.review_version is None:
            raise HookCallError(hook.name, f"could not create admission objects: {_UNKNOWN_VERSIONS}", 400)
        uid = random_uuid()
        body = encode_review(hook.review_version, uid, attributes, invocation, objects)
        if len(body) > MAX_REVIEW_BYTES:
            problem = f"the AdmissionReview of {len(body)} bytes is larger than {MAX_REVIEW_BYTES} bytes"
            raise HookCallError(hook.name, f"failed to call webhook: {problem}", 503)
        deadline = attributes.deadline if hook.timeout is None else min(attributes.deadline, time.monotonic() + hook.timeout)
        return ReviewCall(hook.entry, self._key(invocation), uid, body, deadline)

    def _key(self, invocation: HookInvocation) -> Hashable:
        attributes, entry = self.attributes, invocation.hook.entry
        # the state that an update or delete begins with; a create has none, and its name may be generated by each attempt
        metadata = (attributes.old or {}).get("metadata") or {}
        state = (attributes.name, metadata.get("uid"), metadata.get("resourceVersion")) if attributes.old is not None else None
        return self.phase, attributes.reinvocation.runs_again, entry.uid, entry.revision, attributes.operation, state

    async def read(self, invocation: HookInvocation, answer: ReviewAnswer) -> ReviewResponse:
        """Return the response of a webhook that allows the write or not.

        Raises:
            HookCallError: there is none.
        """
        if len(answer.data) > MAX_INLINE_BYTES:
            current_work().check_size(len(answer.data), MAX_INLINE_BYTES)
            return await aside(lambda: self._read(invocation, answer))
        return self._read(invocation, answer)

    def _read(self, invocation: HookInvocation, answer: ReviewAnswer) -> ReviewResponse:
        name, version = invocation.hook.name, invocation.hook.review_version or ""
        if answer.error is not None:
            code = answer.error.code if isinstance(answer.error, HookError) else 500
            raise HookCallError(name, str(answer.error), code)
        try:
            return read_response(version, answer.uid, answer.data, mutating=self.phase is AdmissionPhase.MUTATING)
        except HookReviewError as error:
            raise HookCallError(name, f"failed to call webhook: {error}", 503) from error
        except InvalidResponseError as error:
            raise HookCallError(name, f"received invalid webhook response: {error}", 503) from error

    def accept(self, invocation: HookInvocation, response: ReviewResponse) -> None:
        """Take the annotations and warnings of a response.

        Raises:
            DenialError: the webhook does not allow the write.
        """
        annotate_answer(self.attributes, invocation.hook, response.annotations)
        self.attributes.warnings.extend(response.warnings)
        if not response.allowed:
            raise denial(invocation.hook.name, response.status)

    def observe(self, invocation: HookInvocation, seconds: float, error: Exception | None) -> None:
        """Count a call with its outcome."""
        self._track(seconds)
        hook, operation, metric_type = invocation.hook, self.attributes.operation, _METRIC_TYPES[self.phase]
        code, error_type = 200, ""
        if isinstance(error, HookCallError):
            code, error_type = error.code, "" if hook.fails_open else "calling_webhook_error"
        elif isinstance(error, DenialError):
            code, error_type = error.given_code, "no_error"
        elif error is not None:
            code, error_type = 0, "apiserver_internal_error"
        if error_type:
            self.stats.reject(hook.name, metric_type, operation, error_type=error_type, code=code)
        self.stats.observe_webhook(hook.name, seconds, metric_type, operation, code=code, rejected=bool(error_type))

    def _track(self, seconds: float) -> None:
        """Add the time to those that slow requests show; validating webhooks are asked at the same time."""
        known = self.attributes.latencies
        if self.phase is AdmissionPhase.MUTATING:
            known["mutating-webhook"] = known.get("mutating-webhook", 0.0) + seconds
        else:
            known["validating-webhook"] = max(known.get("validating-webhook", 0.0), seconds)

    def fail_open(self, invocation: HookInvocation, number: int, error: Exception) -> None:
        """Ignore the failed call of a webhook if its failurePolicy says so. `number` is the webhook's among those of the write.

        Raises:
            StatusError: 500 if it is not ignored; any other error of a webhook.
        """
        hook = invocation.hook
        if not isinstance(error, HookCallError):
            try:
                raise error
            finally:
                del error  # its traceback refers to this frame
        if not hook.fails_open:
            self.check_deadline()
            raise errors.internal(str(error)) from error
        _LOG.warning("webhook call failed, failing open", webhook=hook.name, error=str(error))
        self.stats.fail_open[hook.name, _METRIC_TYPES[self.phase]] += 1
        annotate_failure(self.attributes, hook, number, mutating=self.phase is AdmissionPhase.MUTATING)

    def cut_off(self, invocation: HookInvocation, number: int, seconds: float) -> None:
        """Record the call of a webhook in which the write's time has ended, if it has: the write is cancelled."""
        if time.monotonic() < self.attributes.deadline:
            return
        failure = HookCallError(invocation.hook.name, "failed to call webhook: context deadline exceeded", 503)
        self.observe(invocation, seconds, failure)
        with suppress(errors.StatusError):
            self.fail_open(invocation, number, failure)

    def check_deadline(self) -> None:
        """Check that the write has time left.

        Raises:
            StatusError: 504, it has not.
        """
        if time.monotonic() >= self.attributes.deadline:
            raise errors.timeout("request did not complete within requested timeout - context deadline exceeded")
