"""The checks in order, run up to the first that fails, and the report of their findings.

The order follows a request, except that registration comes after everything that the operator requires before it registers a group.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from apiext.base.meta.log import get_logger
from apiext.operator.api_clients import host_endpoint
from apiext.operator.checks import definitions, health, registration, routing, transport
from apiext.operator.checks import routing as host
from apiext.operator.checks.connections import Connections, NoAnswerError
from apiext.operator.checks.installations import installations
from apiext.operator.checks.snapshot import CheckError, CheckTarget, Snapshot
from apiext.operator.checks.verdict import CheckState, CheckVerdict, Finding, broken
from apiext.operator.options import OperatorOptions

Examine = Callable[[Snapshot, str], Awaitable[CheckVerdict]]
_LOG: Final = get_logger(__name__)

HOST_CHECKS: Final[Mapping[str, Examine]] = {
    "host": host.reachable,
    "aggregation layer": host.aggregation,
    "conditions": host.conditions,
    "installations": installations,
}
"""Checks that do not depend on a group."""
GROUP_CHECKS: Final[Mapping[str, Examine]] = {
    "definitions": definitions.selected,
    "APIServices": registration.pointing,
    "Service": registration.service,
    "connection": transport.connection,
    "certificate": transport.certificate,
    "apiext": health.alive,
    "store": health.store,
    "host's definitions": health.follows,
    "admission": health.admission,
    "readiness": health.ready,
    "delegation": routing.delegated,
    "copies": definitions.mirrored,
    "discovery": routing.discovery,
    "registration": registration.registered,
    "front proxy": routing.trusted,
    "proxying": routing.through,
    "availability": registration.available,
    # last, since it explains no broken path
    "authorization": routing.authorized,
}


async def run_checks(snapshot: Snapshot, checks: Mapping[str, Examine], group: str = "") -> list[Finding]:
    """Return the finding of each check; skip the checks after a failed one."""
    findings: list[Finding] = []
    for name, check in checks.items():
        if findings and (findings[-1].broken or findings[-1].verdict.state is CheckState.SKIPPED):
            findings.append(Finding(name, CheckVerdict(CheckState.SKIPPED, "skipped after a failed check")))
        else:
            findings.append(Finding(name, await _verdict(name, check, snapshot, group)))
    return findings


def first_broken(findings: Iterable[Finding]) -> Finding | None:
    """Return the failed check, None if all passed."""
    return next((finding for finding in findings if finding.broken), None)


def _unexpected(error: Exception) -> CheckVerdict:
    """Return the verdict for an unexpected exception of a check."""
    return broken(f"unexpected error: {type(error).__name__}: {error!s:.200}".rstrip(": "), "repeat the check, and report it if it stays")


async def _verdict(name: str, check: Examine, snapshot: Snapshot, group: str) -> CheckVerdict:
    try:
        return await check(snapshot, group)
    except (CheckError, NoAnswerError) as error:
        return broken(str(error), "give the user the operator's ClusterRole, and see the log of the server that was asked")
    except Exception as error:  # noqa: BLE001 -- the report has to show every check
        _LOG.exception("check failed with an unexpected error", check=name, group=group)
        return _unexpected(error)


@dataclass
class Report:
    """Findings of the checks without a group, of the checks of each group, and of the upkeep of etcd."""

    host: list[Finding]
    groups: dict[str, list[Finding]] = field(default_factory=dict)
    etcd: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return all(first_broken(findings) is None for findings in (self.host, self.etcd, *self.groups.values()))

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        groups = [{"group": name, **_as_json(findings)} for name, findings in self.groups.items()]
        etcd = {"etcd": _as_json(self.etcd)} if self.etcd else {}
        return {"ok": self.ok, "host": _as_json(self.host), "groups": groups} | etcd


async def examine(target: CheckTarget, connections: Connections, names: Sequence[str] = ()) -> Report:
    """Run the checks of the host and of the named groups, by default of all groups that apiext serves or should serve."""
    snapshot = Snapshot(target, connections)
    report = Report(await run_checks(snapshot, HOST_CHECKS))
    if not report.ok:
        return report
    try:
        groups = list(names) or await snapshot.groups()
    except (CheckError, NoAnswerError) as error:
        report.host.append(Finding("groups", broken(f"the groups cannot be listed: {error}", "give the user the operator's ClusterRole")))
        return report
    except Exception as error:  # noqa: BLE001 -- there is always a report
        report.host.append(Finding("groups", _unexpected(error)))
        return report
    if not groups:
        what = f"the host has no CRD that {target.selector or 'anything'} selects, and no APIService of apiext"
        report.host.append(Finding("groups", broken(what, f"kubectl label crd NAME {target.selector}".rstrip())))
    for name in groups:
        report.groups[name] = await run_checks(snapshot, GROUP_CHECKS, name)
    return report


def _as_json(findings: Sequence[Finding]) -> dict[str, Any]:
    failed = first_broken(findings)
    hops = [{"hop": one.check, "state": str(one.verdict.state), "what": one.verdict.what, "remedy": one.verdict.remedy} for one in findings]
    return {"ok": failed is None, "broken": failed.check if failed else None, "hops": hops}


_CACHE_SECONDS: Final = 20.0
"""Time for which a diagnosis of a group is reused."""


class Diagnosis:
    """Runs the checks of `apiext doctor`, and caches the result for each group."""

    def __init__(self, options: OperatorOptions) -> None:
        self._options = options
        self._connections = Connections(lambda: host_endpoint(options))
        self._found: dict[str, tuple[float, str]] = {}

    async def diagnose(self, group: str, authority: str) -> str:
        """Return the first failed check with its remedy, empty if all pass; `authority` is the CA bundle of apiext in PEM."""
        moment, text = self._found.get(group, (-_CACHE_SECONDS, ""))
        if time.monotonic() < moment + _CACHE_SECONDS:
            return text
        target = CheckTarget(
            selector=self._options.selector.text,
            service=self._options.service,
            port=self._options.port,
            server=self._options.server,
            authority=authority,
        )
        broken = first_broken(await run_checks(Snapshot(target, self._connections), GROUP_CHECKS, group))
        text = str(broken) if broken else ""
        self._found[group] = time.monotonic(), text
        return text

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()
