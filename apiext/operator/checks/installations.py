"""Check of the installations of apiext in the cluster: each has a Service of its own, by which its objects on the host name it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from apiext.operator.api_clients import API_SERVICES, CRDS, Json
from apiext.operator.checks.snapshot import CheckError, Snapshot
from apiext.operator.checks.verdict import CheckVerdict, broken, ok, unknown
from apiext.operator.group_state import is_held
from apiext.operator.leader_lease import NAME
from apiext.operator.ownership import is_ours, service_of

_LEASES: Final = f"/apis/coordination.k8s.io/v1/leases?fieldSelector=metadata.name%3D{NAME}"
_MIN_LEASE_SECONDS: Final = 60.0
"""A lease counts for this time after its renewal at least: clocks differ."""
_ONE_OPERATOR: Final = "uninstall one of them, or give each its own --service and --crd-selector"


async def installations(snapshot: Snapshot, _group: str = "") -> CheckVerdict:
    """Name all installations, and check that no group is claimed by two of them, and no Service has two operators."""
    try:
        crds = await snapshot.host_items(CRDS)
    except CheckError as error:
        return unknown(str(error))
    owned = _owned([*filter(is_held, crds), *filter(is_ours, await snapshot.host_items(API_SERVICES))])
    leaders = await _leaders(snapshot)
    for service, namespaces in leaders.items():
        if len(namespaces) > 1:
            return broken(f"several operators lead for Service {service}, in the namespaces {', '.join(namespaces)}", _ONE_OPERATOR)
    ours = str(snapshot.target.service or "") or (min(owned) if len(owned) == 1 else "")
    claimed = sorted(crd["metadata"]["name"] for crd in crds if ours and is_held(crd) and snapshot.selects(crd) and service_of(crd) != ours)
    if claimed:
        theirs = ", ".join(sorted({service_of(crd) for crd in crds if crd["metadata"]["name"] in claimed}))
        return broken(f"{', '.join(claimed)}: selected here, too, but of the apiext behind Service {theirs}", _ONE_OPERATOR)
    services = sorted({*owned, *leaders, *([ours] if ours else [])}, key=lambda one: (one != ours, one))
    texts = [_described(service, sorted(owned.get(service, ())), leaders.get(service, [])) for service in services]
    return ok("; another one: ".join(texts) or "none has a group yet")


def _owned(objects: Iterable[Json]) -> dict[str, set[str]]:
    """Return the groups of the objects' owners by Service. Objects without a Service are of an earlier release."""
    found: dict[str, set[str]] = defaultdict(set)
    for one in objects:
        if service := service_of(one):
            found[service].add(one["spec"].get("group") or "")
    return found


async def _leaders(snapshot: Snapshot) -> dict[str, list[str]]:
    """Return the namespaces of held leases by Service, nothing if the user may not list them."""
    answer = await snapshot.host(_LEASES)
    found: dict[str, list[str]] = defaultdict(list)
    for lease in answer.object.get("items") or () if answer.code == 200 else ():
        if _is_held(lease.get("spec") or {}):
            found[service_of(lease) or "that its lease does not name"].append(lease["metadata"]["namespace"])
    return found


def _is_held(spec: Json) -> bool:
    """Return whether a lease has a holder that renews it."""
    seconds = max(float(spec.get("leaseDurationSeconds") or 0), _MIN_LEASE_SECONDS)
    try:
        age = datetime.now(UTC) - datetime.fromisoformat(spec.get("renewTime") or "")
    except ValueError:
        return False
    return bool(spec.get("holderIdentity")) and age.total_seconds() < seconds


def _described(service: str, groups: list[str], namespaces: list[str]) -> str:
    parts = [f"groups {', '.join(groups)}" if groups else "no group"]
    if namespaces:
        parts.append(f"operator in {', '.join(namespaces)}")
    return f"{service} ({'; '.join(parts)})"
