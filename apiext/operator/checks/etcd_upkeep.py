"""Checks of an etcd's upkeep: members, alarms, size, fragmentation, compaction, disks and certificates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from apiext.operator.checks.etcd_members import EtcdEndpoint, EtcdState
from apiext.operator.checks.verdict import CheckVerdict, Finding, broken, ok, unknown

_MIB: Final = 1 << 20
_FULL: Final = 0.8
"""Share of the quota from which a database is too large."""
_FRAGMENTED: Final = 0.5
"""Share of the file in use below which it is fragmented, if it is not small."""
_SMALL_BYTES: Final = 256 * _MIB
_LAGGING: Final = 5000
"""Entries that a member may be behind with applying the log, as in etcd."""
_SLOW_SECONDS: Final = 0.1
"""Duration of a sync or a commit above which elections begin to fail; etcd advises 0.01 and 0.025."""
_UNCOMPACTED: Final = timedelta(hours=1)
_EXPIRING: Final = timedelta(days=14)
NOSPACE: Final = "NOSPACE"
NOSPACE_REMEDY: Final = "compact, `etcdctl defrag` each member, raise --quota-backend-bytes if needed, then `etcdctl alarm disarm`"
CORRUPT_REMEDY: Final = "a member's data are damaged: remove the member, delete its data, and add it again"


def members(state: EtcdState) -> CheckVerdict:
    """Check that all endpoints answer, with one leader, and keep up."""
    for one in state.endpoints:
        if one.status is None:
            return broken(f"{one.url} does not answer: {one.problem}", "start the member, or repair its network; see its log")
    found = [(one, one.status) for one in state.endpoints if one.status is not None]
    for one, status in found:
        if not status.leader:
            return broken(f"{one.url} has no leader: there is no quorum", "start a majority of the members; else restore a backup")
        if status.raft_index - status.applied_index > _LAGGING:
            behind = status.raft_index - status.applied_index
            return broken(f"{one.url} is {behind} entries behind", "look at the member's disk and processor")
        if status.errors:
            return broken(f"{one.url}: {', '.join(status.errors)}", "see the alarms below, and the log of the member")
    asked = len({status.member for _, status in found})
    if not state.members:
        return broken(f"the members cannot be listed: {state.endpoints[0].problem}", "start a majority of the members")
    names = ", ".join(state.members)
    if state.voters % 2 == 0:
        return broken(f"{state.voters} voting members: {names}", "it tolerates no more failures than one member less: add or remove one")
    return ok(f"{names} (asked {asked} of {len(state.members)}); the version is {found[0][1].version}")


def alarms(state: EtcdState) -> CheckVerdict:
    """Check that there is no alarm."""
    if any(kind == NOSPACE for _, kind in state.alarms):
        who = ", ".join(name for name, kind in state.alarms if kind == NOSPACE)
        return broken(f"NOSPACE at {who}: etcd refuses all writes but deletions", NOSPACE_REMEDY)
    if state.alarms:
        names = ", ".join(f"{kind} at {name}" for name, kind in state.alarms)
        return broken(names, CORRUPT_REMEDY)
    return ok("none") if state.members else unknown("no member can say")


def size(state: EtcdState) -> CheckVerdict:
    """Check that the database is well below its quota."""
    lines = []
    for one, quota in _with(state, lambda metrics: metrics.quota):
        used = one.status.size if one.status else 0
        if quota and used > _FULL * quota:
            return broken(
                f"{one.url}: {used // _MIB} of {int(quota) // _MIB} MiB",
                "`etcdctl defrag` if fragmented, else raise --quota-backend-bytes",
            )
        lines.append(f"{used // _MIB} of {int(quota) // _MIB} MiB")
    return ok("; ".join(lines)) if lines else unknown("the metrics of the members cannot be read")


def fragmentation(state: EtcdState) -> CheckVerdict:
    """Check that most of the file is in use."""
    lines = []
    for one in state.endpoints:
        if one.status is None or not one.status.size:
            continue
        share = one.status.size_in_use / one.status.size
        if share < _FRAGMENTED and one.status.size > _SMALL_BYTES:
            what = f"{one.url}: {one.status.size_in_use // _MIB} of {one.status.size // _MIB} MiB are in use"
            return broken(what, "`etcdctl defrag --endpoints=...`, the leader last: it blocks one member after another")
        lines.append(f"{share:.0%} in use")
    return ok("; ".join(lines)) if lines else unknown("no member answers")


def compaction(state: EtcdState) -> CheckVerdict:
    """Check that the history is compacted."""
    times = [at for _, at in _with(state, lambda metrics: metrics.compacted) if at]
    if not times:
        return unknown("none since the members' start, or the metrics cannot be read")
    age = datetime.now(UTC) - datetime.fromtimestamp(max(times), UTC)
    if age > _UNCOMPACTED:
        return broken(f"the last one was {age.total_seconds() / 3600:.0f} h ago", "run a server with --etcd-compaction-interval above 0")
    return ok(f"the last one was {age.total_seconds() / 60:.0f} min ago")


def disks(state: EtcdState) -> CheckVerdict:
    """Check that syncs and commits are fast."""
    lines = []
    for name, found in (("sync", _with(state, lambda m: m.sync)), ("commit", _with(state, lambda m: m.commit))):
        for one, seconds in found:
            if seconds > _SLOW_SECONDS:
                return broken(
                    f"{one.url}: 99 % of each {name} take up to {seconds * 1000:.0f} ms",
                    "use a faster disk, for etcd alone",
                )
            lines.append(f"99 % of {name}s within {seconds * 1000:.0f} ms")
    return ok("; ".join(lines)) if lines else unknown("the metrics of the members cannot be read")


def certificates(state: EtcdState) -> CheckVerdict:
    """Check that no certificate ends soon."""
    ends = {one.url: one.certificate_end for one in state.endpoints if one.certificate_end is not None}
    if state.client_certificate_end is not None:
        ends["the client certificate"] = state.client_certificate_end
    if not ends:
        return unknown("no TLS")
    name, end = min(ends.items(), key=lambda item: item[1])
    what = f"the certificate of {name}" if name in {one.url for one in state.endpoints} else name
    if end - datetime.now(UTC) < _EXPIRING:
        return broken(f"{what} ends at {end:%Y-%m-%d %H:%M} UTC", "renew it; etcd and apiext read the new files without a restart")
    return ok(f"the first ends at {end:%Y-%m-%d}")


UPKEEP: Final[Mapping[str, Callable[[EtcdState], CheckVerdict]]] = {
    "members": members,
    "alarms": alarms,
    "size": size,
    "fragmentation": fragmentation,
    "compaction": compaction,
    "disks": disks,
    "certificates": certificates,
}


def check_upkeep(state: EtcdState) -> list[Finding]:
    """Return the findings of all checks; none depends on another."""
    return [Finding(name, check(state)) for name, check in UPKEEP.items()]


def _with(state: EtcdState, value: Callable[..., float | None]) -> Iterator[tuple[EtcdEndpoint, float]]:
    """Yield the endpoints that have a metric, with its value."""
    for one in state.endpoints:
        if one.metrics is not None and (found := value(one.metrics)) is not None:
            yield one, found
