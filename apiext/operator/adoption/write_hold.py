"""The webhook that holds writes at the host while its own copies of a group are read-only: clients try again instead of failing.

Behaviour of kube-apiserver 1.37, as measured and in its order of admission plugins:

- Mutating webhooks are asked before any ValidatingAdmissionPolicy. A denial keeps its code, reason and retryAfterSeconds: the client gets
  429, reason TooManyRequests, with the header Retry-After, and client-go, so kubectl, too, repeats the request up to ten times.
- The webhook is called through the Service of apiext, as proxied requests are, from 0.1 s to 2 s after it was created. If it cannot be
  called, the host passes the write on (failurePolicy Ignore), and the policy refuses it with 403.
- It is asked for what the policy denies, but not for objects that do not exist (404).

A dry-run create of a ConfigMap tests the webhook, as it does the policy. An operator that may not write webhook configurations does
without.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Final

from apiext.base.meta import host_annotations
from apiext.base.meta.host_annotations import HOLD_MESSAGE, HOLD_PATH
from apiext.base.meta.log import get_logger
from apiext.operator.adoption.host_documents import PROBE_PATH, fingerprint, put_document
from apiext.operator.api_clients import ApiClient, ApiError, Json
from apiext.operator.apiservice_owner import ServiceTarget

_LOG: Final = get_logger(__name__)
WEBHOOKS: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
_CALL_SECONDS: Final = 5
"""Seconds in which apiext must answer the host."""
PATIENCE_SECONDS: Final = 10.0
"""Seconds in which the host must begin to ask apiext; then the policy alone refuses writes."""
_POLL_SECONDS: Final = 0.1


class WriteHold:
    """The webhook configuration of a group on the host, which belongs to the apiext behind a Service."""

    def __init__(self, host: ApiClient, group: str, target: Callable[[], ServiceTarget]) -> None:
        self._host = host
        self._group = group
        self._target = target

    async def ensure(self, metadata: Json, plurals: Sequence[str]) -> bool:
        """Create the configuration with these metadata for these resources of the group, or update it; return whether that is allowed.

        Raises:
            ApiError: a call failed.
        """
        try:
            await put_document(self._host, WEBHOOKS, {"metadata": metadata, "webhooks": self._webhooks(plurals)}, "webhooks")
        except ApiError as error:
            if error.code != HTTPStatus.FORBIDDEN:
                raise
            _LOG.warning("writes are not held but refused while the group moves", group=self._group, error=str(error))
            return False
        return True

    async def wait(self, *, held: bool) -> bool:
        """Wait until the host holds writes, or does not any more; return False after PATIENCE_SECONDS. Raises ApiError."""
        loop = asyncio.get_running_loop()
        end = loop.time() + PATIENCE_SECONDS
        while await self.holds() is not held:
            if loop.time() > end:
                _LOG.warning("host does not ask apiext whether to hold writes: its policy refuses them", group=self._group, held=held)
                return False
            await asyncio.sleep(_POLL_SECONDS)
        return True

    async def holds(self) -> bool:
        """Return whether the host holds a write of the probe. Raises ApiError for another refusal."""
        try:
            await self._host.post(PROBE_PATH, {"metadata": {"name": self._probe}})
        except ApiError as error:
            if error.code == HTTPStatus.TOO_MANY_REQUESTS and HOLD_MESSAGE in str(error):
                return True
            raise
        return False

    @property
    def _probe(self) -> str:
        return f"apiext-hold-{fingerprint(self._group, ())}"

    def _webhooks(self, plurals: Sequence[str]) -> list[Json]:
        target = self._target()
        service: Json = {"namespace": target.service.namespace, "name": target.service.name, "port": target.port, "path": HOLD_PATH}
        trusted = {"caBundle": target.ca_bundle} if target.ca_bundle else {}
        called: Json = {
            "clientConfig": {"service": service, **trusted},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Ignore",
            "timeoutSeconds": _CALL_SECONDS,
        }
        everywhere = {"apiVersions": ["*"], "scope": "*"}
        resources = [resource for plural in plurals for resource in (plural, f"{plural}/*")]
        writes: Json = {"operations": ["CREATE", "UPDATE", "DELETE"], "apiGroups": [self._group], "resources": resources, **everywhere}
        probes: Json = {"operations": ["CREATE"], "apiGroups": [""], "resources": ["configmaps"], **everywhere}
        probe: Json = {
            "name": f"probe.{host_annotations.DOMAIN}",
            "rules": [probes],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
            "matchConditions": [{"name": "probe", "expression": f"object.metadata.name == '{self._probe}'"}],
        }
        held: list[Json] = [{"name": f"hold.{host_annotations.DOMAIN}", "rules": [writes]}] if resources else []
        return [called | one for one in (*held, probe)]


async def configurations(host: ApiClient) -> list[Json]:
    """Return all webhook configurations, none if the operator may not list them. Raises ApiError."""
    try:
        return await host.items(WEBHOOKS)
    except ApiError as error:
        if error.code != HTTPStatus.FORBIDDEN:
            raise
        return []


async def delete_configuration(host: ApiClient, name: str) -> None:
    """Delete a configuration if there is one that the operator may see. Raises ApiError."""
    try:
        await host.get(f"{WEBHOOKS}/{name}")
    except ApiError as error:
        if error.code not in {HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN}:
            raise
        return
    await host.delete(f"{WEBHOOKS}/{name}")
