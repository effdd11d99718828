"""The policy that keeps the host's own copies as they are: nobody writes them while apiext serves the group, or is about to.

What kube-apiserver 1.37 does with a ValidatingAdmissionPolicy whose expression is `false`, as it was asked:

- It bites some 0.1 s to 2 s after policy and binding have been created, from one request to the next and for all resources
  of the policy at once; afterwards no request gets past it. When the binding is deleted it lets go within about a second.
- It refuses create, update, patch, apply (409 for a conflict comes first), delete, deletecollection (if there is anything to
  delete), status and scale, whoever asks: also the garbage collector and the namespace controller, which try again (a
  namespace says NamespaceDeletionContentFailure meanwhile). Patches that change nothing are refused, too, as are dry runs.
  What is not there is 404, what is invalid is 422, in a missing namespace 404: those come first.
- The refusal is 403 with reason Forbidden: `<plural>.<group> "<name>" is forbidden: ValidatingAdmissionPolicy '<policy>' with
  binding '<binding>' denied request: <message>`; the name is "Unknown" for deletecollection.
- The controller that deletes the instances of a CRD that is being deleted is not asked for admission: it goes on.

Whether it bites is therefore asked with the dry run of a ConfigMap, which the policy refuses under a name that tells what else it refuses.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import orjson

from apiext.meta import host_annotations
from apiext.operator.adoption.polling import until
from apiext.operator.adoption.store_diff import Contents
from apiext.operator.api_clients import ApiError
from apiext.operator.apiservices.ownership import MANAGED_BY, MANAGER, is_ours

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from apiext.operator.api_clients import Api, Json

_API: Final = "/apis/admissionregistration.k8s.io/v1"
_POLICIES: Final = f"{_API}/validatingadmissionpolicies"
_BINDINGS: Final = f"{_API}/validatingadmissionpolicybindings"
_PROBE: Final = "/api/v1/namespaces/default/configmaps?dryRun=All"
_PREFIX: Final = "apiext-"
_CONTENTS: Final = "apiext.dev/contents"
"""Annotation: what the host's store has of each definition, which stays so for as long as the policy bites."""
_TOUCHED: Final = "apiext.dev/host-watches-ended"
"""Annotation: the definitions whose watches the host has been made to end since it proxies their group."""


class Policy:
    """The policy of a group on the host, for the apiext behind a Service."""

    def __init__(self, host: Api, group: str, service: str = "") -> None:
        self._host = host
        self._group = group
        self._service = service
        self.name = f"{_PREFIX}{group}"

    async def read(self) -> Notes | None:
        """What is noted on the policy, None where there is no policy. Raises ApiError."""
        found = await self._host.find(f"{_POLICIES}/{self.name}")
        return None if found is None else Notes(found)

    async def ensure(self, plurals: Iterable[str]) -> None:
        """Have it there, for these resources of the group. Raises ApiError."""
        policy, binding = self._documents(sorted(plurals))
        await self._put(_POLICIES, policy)
        await self._put(_BINDINGS, binding)

    async def bites(self, plurals: Iterable[str]) -> None:
        """Return when it refuses writes to these resources. Raises ApiError where it does not come to that."""
        await self._until(probe(self._group, plurals), refused=True)

    async def note(self, contents: Mapping[str, Contents] | None = None, touched: Iterable[str] | None = None) -> None:
        """Note what the host's store has by definition, and whose watches the host has ended; None leaves it. Raises ApiError."""
        annotations = {}
        if contents is not None:
            texts = {name: [one.count, one.digest] for name, one in contents.items()}
            annotations[_CONTENTS] = orjson.dumps(texts, option=orjson.OPT_SORT_KEYS).decode()
        if touched is not None:
            annotations[_TOUCHED] = ",".join(sorted(touched))
        await self._host.patch(f"{_POLICIES}/{self.name}", {"metadata": {"annotations": annotations}})

    async def remove(self) -> None:
        """Return when it is gone and does not refuse anything any more. Raises ApiError."""
        found = await self._host.find(f"{_POLICIES}/{self.name}")
        await self.delete()
        rules = found["spec"].get("matchConstraints", {}).get("resourceRules") if found else None
        for name in (rules[-1].get("resourceNames") if rules else None) or ():
            await self._until(name, refused=False)

    async def delete(self) -> None:
        """Have it gone, with its binding; whether it still refuses something for a moment is left open. Raises ApiError."""
        # in this order: as long as the policy is there, it has bitten all the time
        for collection in (_POLICIES, _BINDINGS):
            if await self._host.find(f"{collection}/{self.name}") is not None:
                await self._host.delete(f"{collection}/{self.name}")

    def _documents(self, plurals: list[str]) -> tuple[Json, Json]:
        metadata = {"name": self.name, "labels": {MANAGED_BY: MANAGER}, "annotations": {host_annotations.SERVICE: self._service}}
        resources = [resource for plural in plurals for resource in (plural, f"{plural}/*")]
        writes = {"operations": ["CREATE", "UPDATE", "DELETE"], "resources": resources, "apiGroups": [self._group]}
        names = {"resources": ["configmaps"], "resourceNames": [probe(self._group, plurals)]}
        asked = {"operations": ["CREATE"], "apiGroups": [""], **names}
        rules = [{"apiVersions": ["*"], "scope": "*", **rule} for rule in ([writes] if resources else []) + [asked]]
        validation = {"expression": "false", "reason": "Forbidden", "message": _message(self._group)}
        spec = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": rules}, "validations": [validation]}
        return {"metadata": metadata, "spec": spec}, {
            "metadata": metadata,
            "spec": {"policyName": self.name, "validationActions": ["Deny"]},
        }

    async def _put(self, collection: str, wanted: Any) -> None:
        found = await self._host.find(f"{collection}/{self.name}")
        if found is None:
            await self._host.post(collection, wanted)
        elif not _has(found["spec"], wanted["spec"]):
            await self._host.put(f"{collection}/{self.name}", {**found, "spec": wanted["spec"]})

    async def _until(self, name: str, *, refused: bool) -> None:
        async def holds() -> bool:
            return await self._refuses(name) is refused

        state = "bite" if refused else "let go"
        await until(holds, lambda: f"ValidatingAdmissionPolicy {self.name} of the host does not {state}")

    async def _refuses(self, name: str) -> bool:
        """Whether the policy refuses what has a name. Raises ApiError where that cannot be told."""
        try:
            await self._host.post(_PROBE, {"metadata": {"name": name}})
        except ApiError as error:
            if error.code == 403 and _message(self._group) in str(error):
                return True
            raise
        return False


async def guarded(host: Api, service: str) -> set[str]:
    """The groups with a policy of the apiext behind a Service. Raises ApiError."""
    ours = (one["metadata"]["name"] for one in await host.items(_POLICIES) if is_ours(one, service))
    return {name.removeprefix(_PREFIX) for name in ours if name.startswith(_PREFIX)}


class Notes:
    """What is noted on a policy."""

    def __init__(self, policy: Json) -> None:
        annotations = policy["metadata"].get("annotations") or {}
        self.touched = frozenset(name for name in annotations.get(_TOUCHED, "").split(",") if name)
        self.contents = {name: Contents(*one) for name, one in orjson.loads(annotations.get(_CONTENTS, "{}")).items()}


def probe(group: str, plurals: Iterable[str]) -> str:
    """The name of ConfigMaps that are refused together with these resources; nobody makes any."""
    text = ",".join([group, *sorted(plurals)])
    return f"apiext-probe-{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"


def _message(group: str) -> str:
    return f"apiext serves group {group}"


def _has(found: Any, wanted: Any) -> bool:
    """Whether all that is wanted is there; the host adds defaults."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(key in found and _has(found[key], value) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(found, list):
        return len(found) == len(wanted) and all(map(_has, found, wanted))
    return bool(found == wanted)
