"""The work of the leader, from the acquisition of the lease to its loss."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.backoff import Backoff
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.workqueue import WorkQueue
from apiext.base.webhook.reflector import Reflector
from apiext.operator.adoption.admission_policy import groups_with_policy
from apiext.operator.api_clients import API_SERVICES, CRDS, ApiClient, ApiError, Clients, Json, apiext_endpoint
from apiext.operator.apiservice_owner import Owner, ServiceTarget, owner
from apiext.operator.ca_bundle import CABundleSource
from apiext.operator.checks.sequence import Diagnosis
from apiext.operator.leader_lease import NAME
from apiext.operator.options import OperatorOptions
from apiext.operator.reconciler import Reconciler
from apiext.operator.reporting.event_recorder import EventRecorder
from apiext.operator.statistics import OperatorStatistics
from apiext.operator.watched_state import WatchedState

_LOG: Final = get_logger(__name__)
_WORKERS: Final = 1000
"""Groups that are reconciled at the same time: the move of a large group must not delay others."""
_BATCH_SECONDS: Final = 0.05
"""Delay of a reconciliation after a change, to wait for further changes of the group."""
_GROUP_RETRY_SECONDS: Final = (0.5, 60.0)
"""First and longest pause before a failed group is reconciled again."""
_RESYNC_SECONDS: Final = 60.0
"""Interval of the reconciliation of all groups, whether or not they changed."""
_APIEXT_RETRY_SECONDS: Final = 4.0
"""Longest pause between attempts to follow apiext. It is short: no other clients load apiext this way."""
_HOST_RETRY_SECONDS: Final = (1.0, 30.0)
"""First and longest pause between attempts to read the host."""

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Permission(NamedTuple):
    """One verb on a resource: the ResourceAttributes of a SelfSubjectAccessReview."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    """Empty for all namespaces."""
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {resource}.{self.group}" if self.group else f"{self.verb} {resource}"


_CRDS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
_ADMISSION: Final = "admissionregistration.k8s.io"
_EVERYWHERE: Final = (
    *(Permission(verb, *_CRDS) for verb in ("get", "list", "watch", "patch", "delete")),
    Permission("patch", *_CRDS, subresource="status"),
    *(Permission(verb, "apiregistration.k8s.io", "apiservices") for verb in ("get", "list", "watch", "create", "patch", "delete")),
    *(Permission(verb, _ADMISSION, "validatingadmissionpolicies") for verb in ("get", "list", "create", "update", "patch", "delete")),
    *(Permission(verb, _ADMISSION, "validatingadmissionpolicybindings") for verb in ("get", "create", "update", "delete")),
    *(Permission(verb, _ADMISSION, "mutatingwebhookconfigurations") for verb in ("get", "list", "create", "update", "delete")),
    # events about definitions, which have no namespace, and dry runs that test the enforcement of a policy
    *(Permission(verb, "", "events", namespace="default") for verb in ("create", "patch")),
    Permission("create", "", "configmaps", namespace="default"),
)


def required_permissions(namespace: str) -> tuple[Permission, ...]:
    """Return all permissions except those for objects of adopted groups. `namespace` is the namespace of the Lease."""
    leases = ("coordination.k8s.io", "leases")
    held = (Permission(verb, *leases, namespace=namespace, name=NAME) for verb in ("get", "update"))
    return (*_EVERYWHERE, *held, Permission("create", *leases, namespace=namespace))


async def missing_permissions(host: ApiClient, namespace: str) -> list[Permission]:
    """Return the permissions that the host denies; a failed review counts as allowed."""
    required = required_permissions(namespace)
    found = await asyncio.gather(*(_lacks(host, permission) for permission in required))
    return [permission for permission, lacks in zip(required, found, strict=True) if lacks]


async def _lacks(host: ApiClient, right: Permission) -> bool:
    spec = {"resourceAttributes": right._asdict()}
    review: Json = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    try:
        answer = await host.post(_REVIEWS, review)
    except ApiError:
        return False
    return not (answer.get("status") or {}).get("allowed", True)


class LeaderSession:
    """Reconciles the groups of the watched state, and follows apiext's definitions, until cancelled.

    `state` holds complete lists of the host's objects. `restart_watch` makes the watch of the host list them again.
    """

    def __init__(
        self,
        options: OperatorOptions,
        host: ApiClient,
        ca_bundle_source: CABundleSource,
        recorder: EventRecorder,
        diagnosis: Diagnosis,
        state: WatchedState,
        statistics: OperatorStatistics,
        restart_watch: Callable[[], None],
    ) -> None:
        self._options = options
        self._host = host
        self._ca_bundle_source = ca_bundle_source
        self._diagnosis = diagnosis
        self._recorder = recorder
        self._state = state
        self._statistics = statistics
        self._restart_watch = restart_watch
        self._bundle = ""
        self._distributed: str | None = None
        """The CA bundle that is in all APIServices of apiext."""
        self._queue = WorkQueue(
            self._reconcile,
            log=_LOG,
            event="group reconciliation failed, retrying",
            key_field="group",
            retryable=(ApiError,),
            workers=_WORKERS,
            pauses=_GROUP_RETRY_SECONDS,
        )
        self._reconciler: Reconciler | None = None
        """None until the session is ready."""

    def on_change(self, group: str) -> None:
        """Reconcile a group soon, because an object of it changed."""
        if self._reconciler:
            self._queue.add_after(group, _BATCH_SECONDS)

    async def run(self) -> None:
        """Work until cancelled."""
        self._state.reset_session()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._ca_bundle_source.run())
            tasks.create_task(self._check_permissions())
            if self._options.ca_file or self._options.serving_secret:
                self._bundle = await self._ca_bundle_source.changed("")
            apiext = ApiClient(apiext_endpoint(self._options, self._bundle))
            try:
                self._state.guarded = await self._groups_with_policy()
                etcd, encryption = self._options.host_etcd, self._options.host_encryption
                clients = Clients(host=self._host, apiext=apiext, host_etcd=etcd, host_encryption=encryption)
                self._reconciler = Reconciler(clients, self._state, self._recorder, self._target, self._diagnose)
                async with asyncio.TaskGroup() as follow:
                    follow.create_task(self._follow_apiext(apiext))
                    follow.create_task(self._resync())
                    follow.create_task(self._queue.run())
            finally:
                await apiext.close()

    async def _follow_apiext(self, apiext: ApiClient) -> None:
        """Follow apiext's definitions; connect again when the CA bundle of apiext's certificate changes."""
        while True:
            follower = _DefinitionFollower(self._state, self._reconcile_all)
            reflector = Reflector(apiext.client, CRDS, follower, max_pause=_APIEXT_RETRY_SECONDS)
            following = asyncio.create_task(reflector.run())
            try:
                self._bundle = await self._ca_bundle_source.changed(self._bundle)
            finally:
                await end_tasks(following)
            _LOG.info("CA bundle of apiext changed", server=apiext.url)
            await apiext.set_endpoint(apiext_endpoint(self._options, self._bundle))
            self._reconcile_all()

    async def _resync(self) -> None:
        while True:
            self._reconcile_all()
            await asyncio.sleep(_RESYNC_SECONDS)
            await self.verify_watch()

    async def verify_watch(self) -> None:
        """Restart the watch of the host if the host contradicts the state.

        The host's store may have been restored from a backup: a watch from a higher resourceVersion never delivers an event.
        """
        for path, cache in ((CRDS, self._state.crds), (API_SERVICES, self._state.api_services)):
            try:
                page = await self._host.get(f"{path}?limit=1")
            except ApiError:
                return
            metadata = page.get("metadata") or {}
            count = len(page.get("items") or ()) + (metadata.get("remainingItemCount") or 0)
            revision = int(metadata.get("resourceVersion") or 0)
            if revision < cache.newest or count != len(cache.all()):
                _LOG.warning("watched state differs from the host, listing again", path=path, revision=revision, newest=cache.newest)
                self._restart_watch()
                return

    async def _groups_with_policy(self) -> set[str]:
        """Return the groups with a policy of apiext, at the start of the session. Only this session changes them later."""
        backoff = Backoff(*_HOST_RETRY_SECONDS)
        while True:
            try:
                return await groups_with_policy(self._host, str(self._options.service))
            except ApiError as error:
                _LOG.warning("policies of the host cannot be listed, retrying", seconds=backoff.next, error=str(error))
            await backoff.pause()

    async def _reconcile(self, group: str) -> float | None:
        with self._statistics.reconciliation():
            after = await self._reconciler.reconcile(group) if self._reconciler else None
        self._report_distribution()
        return after

    def _report_distribution(self) -> None:
        """Mark the CA bundle as distributed when all APIServices of apiext have it."""
        if self._distributed == self._bundle:
            return
        target = self._target()
        ours = [one["spec"] for one in self._state.api_services.all() if owner(one, target) is Owner.APIEXT]
        if all((spec.get("caBundle") or "") == target.ca_bundle for spec in ours if spec.get("service")):
            self._distributed = self._bundle
            self._ca_bundle_source.mark_distributed(self._bundle)

    def _reconcile_all(self) -> None:
        for group in self._state.groups(self._target()):
            self._queue.add(group)
        self._report_distribution()

    def _target(self) -> ServiceTarget:
        bundle = base64.b64encode(self._bundle.encode()).decode()
        return ServiceTarget(service=self._options.service, port=self._options.port, ca_bundle=bundle)

    async def _diagnose(self, group: str) -> str:
        return await self._diagnosis.diagnose(group, self._bundle)

    async def _check_permissions(self) -> None:
        for permission in await missing_permissions(self._host, self._options.namespace):
            _LOG.warning("the operator's user lacks a right on the host", right=str(permission))


class _DefinitionFollower:
    """Keeps the definitions of apiext in the watched state."""

    def __init__(self, state: WatchedState, on_list: Callable[[], None]) -> None:
        self._state = state
        self._on_list = on_list

    def replaced(self, objects: Sequence[dict[str, Any]]) -> None:
        self._state.definitions.replace(objects)
        self._state.known = True
        self._on_list()

    def changed(self, found: dict[str, Any]) -> None:
        self._state.definitions.update(found)

    def deleted(self, found: dict[str, Any]) -> None:
        self._state.definitions.delete(found)
