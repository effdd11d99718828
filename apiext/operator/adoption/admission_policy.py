"""The ValidatingAdmissionPolicy that makes the host's own copies read-only while apiext serves the group, or is about to.

Behaviour of kube-apiserver 1.37 with a policy whose expression is `false`, as measured:

- It is enforced 0.1 s to 2 s after policy and binding were created, from one request to the next and for all resources of the policy
  at once; afterwards no request passes. Enforcement ends about a second after the binding was deleted.
- It denies create, update, patch, apply (after 409 for a conflict), delete, deletecollection (if there is anything to delete), status
  and scale, for all users. The garbage collector and the namespace controller are denied too, and retry (meanwhile a namespace has the
  condition NamespaceDeletionContentFailure). Patches without a change and dry runs are denied as well. 404 (missing object or
  namespace) and 422 (invalid object) come first.
- The response is 403 with reason Forbidden: `<plural>.<group> "<name>" is forbidden: ValidatingAdmissionPolicy '<policy>' with
  binding '<binding>' denied request: <message>`; the name is "Unknown" for deletecollection.
- The controller that deletes the instances of a CRD that is being deleted bypasses admission.

A dry-run create of a ConfigMap tests the enforcement. The policy denies one name, which encodes the resources of the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import orjson

from apiext.base.meta import host_annotations
from apiext.base.meta.host_annotations import MANAGED_BY, MANAGER, POLICY_PREFIX
from apiext.operator.adoption.host_documents import PROBE_PATH, fingerprint, put_document
from apiext.operator.adoption.polling import until
from apiext.operator.adoption.store_diff import ContentSummary
from apiext.operator.adoption.write_hold import WriteHold, configurations, delete_configuration
from apiext.operator.api_clients import ApiClient, ApiError, Json
from apiext.operator.apiservice_owner import ServiceTarget
from apiext.operator.group_state import annotations_of
from apiext.operator.ownership import is_ours

_API: Final = "/apis/admissionregistration.k8s.io/v1"
_POLICIES: Final = f"{_API}/validatingadmissionpolicies"
_BINDINGS: Final = f"{_API}/validatingadmissionpolicybindings"
_SUMMARIES: Final = "apiext.dev/contents"
"""Annotation: summary of the host's objects by definition; it stays true while the policy is enforced."""
_HOST_VERSIONS: Final = "apiext.dev/host-stored-versions"
"""Annotation: versions in which the host's objects may be stored, by definition; it stays true while the policy is enforced."""
_WATCHES_RESET: Final = "apiext.dev/host-watches-ended"
"""Annotation: definitions whose watches on the host were ended after it started to proxy their group."""
_GIVEN_BACK: Final = "apiext.dev/given-back"
"""Annotation: definitions of which a hand-over has written all objects to the host."""


class Policy:
    """The policy of a group on the host, owned by the apiext behind a Service. All methods raise ApiError."""

    def __init__(self, host: ApiClient, group: str, service: str, target: Callable[[], ServiceTarget] | None = None) -> None:
        """Refer to a policy. With a `target`, a webhook there holds writes before the policy refuses them."""
        self._host = host
        self._group = group
        self._service = service
        self.name = f"{POLICY_PREFIX}{group}"
        self._hold = WriteHold(host, group, target) if target is not None else None
        self.is_held = False
        """Whether the host asked apiext before writes when this object created the policy."""

    async def read(self) -> PolicyRecord:
        """Return the annotations of the policy. Raises ApiError."""
        return PolicyRecord(await self._host.find(f"{_POLICIES}/{self.name}"))

    async def ensure(self, plurals: Iterable[str]) -> None:
        """Create or update policy and binding for these resources of the group; new ones follow when writes are held. Raises ApiError."""
        resources = sorted(plurals)
        policy, binding = self._documents(resources)
        held = None
        if self._hold is not None and await self._hold.ensure(policy["metadata"], resources):
            held = partial(self._await_hold, self._hold)
        await put_document(self._host, _POLICIES, policy, "spec", held)
        await put_document(self._host, _BINDINGS, binding, "spec")

    async def _await_hold(self, hold: WriteHold) -> None:
        self.is_held = await hold.wait(held=True)

    async def wait_until_enforced(self, plurals: Iterable[str]) -> None:
        """Wait until the host denies writes to these resources. Raises ApiError, also after a timeout."""
        await self._wait(probe(self._group, plurals), denied=True)

    async def record(
        self,
        *,
        summaries: Mapping[str, ContentSummary] | None = None,
        host_versions: Mapping[str, Sequence[str]] | None = None,
        watches_reset: Iterable[str] | None = None,
        given_back: Iterable[str] | None = None,
    ) -> None:
        """Write the annotations of the policy; None keeps the present value. Raises ApiError."""
        annotations = {}
        if summaries is not None:
            annotations[_SUMMARIES] = _text({name: [one.count, one.digest] for name, one in summaries.items()})
        if host_versions is not None:
            annotations[_HOST_VERSIONS] = _text(host_versions)
        if watches_reset is not None:
            annotations[_WATCHES_RESET] = _names(watches_reset)
        if given_back is not None:
            annotations[_GIVEN_BACK] = _names(given_back)
        await self._host.patch(f"{_POLICIES}/{self.name}", {"metadata": {"annotations": annotations}})

    async def remove(self) -> None:
        """Delete policy and binding, and wait until the host accepts writes again. Raises ApiError, also after a timeout."""
        found = await self._host.find(f"{_POLICIES}/{self.name}")
        await self._delete_policy()
        rules = found["spec"].get("matchConstraints", {}).get("resourceRules") if found else None
        for name in (rules[-1].get("resourceNames") if rules else None) or ():
            await self._wait(name, denied=False)
        await self._release()
        if self._hold is not None:
            await self._hold.wait(held=False)

    async def delete(self) -> None:
        """Delete policy, binding and webhook; writes may still be denied for about a second. Raises ApiError."""
        await self._delete_policy()
        await self._release()

    async def _delete_policy(self) -> None:
        # delete the policy first: an existing policy then proves that it was always enforced
        for collection in (_POLICIES, _BINDINGS):
            if await self._host.find(f"{collection}/{self.name}") is not None:
                await self._host.delete(f"{collection}/{self.name}")

    async def _release(self) -> None:
        """Let the host pass on writes: last, so that none is refused for which clients do not try again."""
        await delete_configuration(self._host, self.name)

    def _documents(self, plurals: list[str]) -> tuple[Json, Json]:
        metadata = {"name": self.name, "labels": {MANAGED_BY: MANAGER}, "annotations": {host_annotations.SERVICE: self._service}}
        resources = [resource for plural in plurals for resource in (plural, f"{plural}/*")]
        writes = {"operations": ["CREATE", "UPDATE", "DELETE"], "resources": resources, "apiGroups": [self._group]}
        names = {"resources": ["configmaps"], "resourceNames": [probe(self._group, plurals)]}
        probes = {"operations": ["CREATE"], "apiGroups": [""], **names}
        rules = [{"apiVersions": ["*"], "scope": "*", **rule} for rule in ([writes] if resources else []) + [probes]]
        validation = {"expression": "false", "reason": "Forbidden", "message": _message(self._group)}
        spec = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": rules}, "validations": [validation]}
        return {"metadata": metadata, "spec": spec}, {
            "metadata": metadata,
            "spec": {"policyName": self.name, "validationActions": ["Deny"]},
        }

    async def _wait(self, name: str, *, denied: bool) -> None:
        async def holds() -> bool:
            return await self.denies(name) is denied

        state = "enforced" if denied else "lifted"
        await until(holds, lambda: f"ValidatingAdmissionPolicy {self.name} of the host is not {state}")

    async def denies(self, name: str) -> bool:
        """Return whether the policy denies a ConfigMap of that name. Raises ApiError for any other response."""
        try:
            await self._host.post(PROBE_PATH, {"metadata": {"name": name}})
        except ApiError as error:
            if error.code == 403 and _message(self._group) in str(error):
                return True
            raise
        return False


async def groups_with_policy(host: ApiClient, service: str) -> set[str]:
    """Return the groups that have a policy, or a webhook before it, of the apiext behind a Service. Raises ApiError."""
    found = [*await host.items(_POLICIES), *await configurations(host)]
    ours = (one["metadata"]["name"] for one in found if is_ours(one, service))
    return {name.removeprefix(POLICY_PREFIX) for name in ours if name.startswith(POLICY_PREFIX)}


class PolicyRecord:
    """The annotations of a policy; empty ones if there is no policy."""

    def __init__(self, policy: Json | None) -> None:
        self.exists = policy is not None
        annotations = annotations_of(policy) if policy else {}
        self.watches_reset = frozenset(name for name in annotations.get(_WATCHES_RESET, "").split(",") if name)
        self.given_back = frozenset(name for name in annotations.get(_GIVEN_BACK, "").split(",") if name)
        self.host_versions: dict[str, list[str]] = orjson.loads(annotations.get(_HOST_VERSIONS, "{}"))
        self.summaries = {name: ContentSummary(*one) for name, one in orjson.loads(annotations.get(_SUMMARIES, "{}")).items()}
        self.known = self.watches_reset | self.summaries.keys()
        """Definitions that apiext has served."""


def probe(group: str, plurals: Iterable[str]) -> str:
    """Return the name of the probe ConfigMaps that a policy for these resources denies."""
    return f"apiext-probe-{fingerprint(group, plurals)}"


def _names(names: Iterable[str]) -> str:
    return ",".join(sorted(names))


def _text(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _message(group: str) -> str:
    return f"apiext serves group {group}"
