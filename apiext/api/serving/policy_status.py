"""Writes the status of ValidatingAdmissionPolicies: warnings about expressions that do not fit the types of what a policy matches.

In a cluster, kube-controller-manager does this (pkg/controller/validatingadmissionpolicystatus); a standalone server has none.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.api.endpoints.handlers.patch import patch_stored
from apiext.api.endpoints.handlers.write import perform_own
from apiext.api.endpoints.parameters.options import WriteQuery
from apiext.api.endpoints.scopes.dialect import APPLY_PATCH
from apiext.api.endpoints.scopes.write_call import SERVER_MASTER, WriteCall
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.side_thread import aside
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.workqueue import WorkQueue
from apiext.schema.cel.policies.type_checking import expression_warnings

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.workers.pool import WorkerPool
    from apiext.schema.cel.policies.type_checking import TypeFinder

_LOG: Final = get_logger(__name__)
_MANAGER: Final = "validatingadmissionpolicy-status"
_PAUSES: Final = (0.05, 30.0)
"""Seconds before the first retry, and the longest before later ones."""


class PolicyStatusController:
    """Checks each generation of a policy once. It sees all policies by `put`."""

    def __init__(self, scope: Scope, types: TypeFinder, workers: WorkerPool) -> None:
        """Create the controller. `scope` is that of the status of policies."""
        self._scope = scope
        self._workers = workers
        self._types = types
        self._policies: dict[str, Object] = {}
        """Policies by name that are not checked yet."""
        self._queue = WorkQueue(
            self._sync,
            log=_LOG,
            event="policy status update failed, retrying",
            key_field="policy",
            retryable=(errors.StatusError,),
            pauses=_PAUSES,
        )
        self._task = asyncio.create_task(self._queue.run(), name="policy-status-controller")

    async def close(self) -> None:
        """Stop. The next server checks the policies whose status is still missing."""
        await end_tasks(self._task)

    def put(self, policy: Object) -> None:
        """Take a new state of a policy."""
        metadata, status = policy["metadata"], policy.get("status") or {}
        if (metadata.get("generation") or 0) > (status.get("observedGeneration") or 0):
            self._policies[metadata["name"]] = policy
            self._queue.add(metadata["name"])

    async def _sync(self, name: str) -> None:
        policy = self._policies.get(name)
        if policy is None:
            return
        warnings = await expression_warnings(policy.get("spec") or {}, self._types, aside)
        await self._write(name, {"observedGeneration": policy["metadata"]["generation"], "typeChecking": _checked(warnings)})
        if self._policies.get(name) is policy:
            del self._policies[name]

    async def _write(self, name: str, status: Object) -> None:
        kind = self._scope.kind
        body = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": {"name": name}, "status": status}
        call = WriteCall(
            SERVER_MASTER, "", self._scope.subresource, name, WriteQuery(force=True), _MANAGER, APPLY_PATCH, json_codec.dumps(body)
        )
        try:
            await perform_own(self._workers, self._scope, patch_stored, call)
        except errors.StatusError as error:
            if error.code != 404:
                raise


def _checked(warnings: list[dict[str, str]]) -> Object:
    return {"expressionWarnings": warnings} if warnings else {}
