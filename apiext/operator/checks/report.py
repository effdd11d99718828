"""All ways from the host to its groups, looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from apiext.operator.checks.connections import NoAnswerError
from apiext.operator.checks.sequence import OF_GROUP, OF_HOST, first_broken, walk
from apiext.operator.checks.snapshot import HopError, Look
from apiext.operator.checks.verdict import Finding, broken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.operator.checks.connections import Connects
    from apiext.operator.checks.snapshot import Target


@dataclass
class Report:
    """What was found at the hops that all groups share, and at those of each group."""

    host: list[Finding]
    groups: dict[str, list[Finding]] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing is broken."""
        return all(first_broken(findings) is None for findings in (self.host, *self.groups.values()))

    def as_json(self) -> dict[str, Any]:
        """The report in JSON values."""
        groups = [{"group": name, **_as_json(findings)} for name, findings in self.groups.items()]
        return {"ok": self.ok, "host": _as_json(self.host), "groups": groups}


async def examine(target: Target, connects: Connects, names: Sequence[str] = ()) -> Report:
    """Walk all hops to the groups of those names, or to all that apiext serves or should."""
    look = Look(target, connects)
    report = Report(await walk(look, OF_HOST))
    if not report.ok:
        return report
    try:
        groups = list(names) or await look.groups()
    except (HopError, NoAnswerError) as error:
        report.host.append(Finding("groups", broken(f"they cannot be told: {error}", "give the user the operator's ClusterRole")))
        return report
    if not groups:
        what = f"the host has no CRD that {target.selector or 'anything'} selects, and no APIService of apiext"
        report.host.append(Finding("groups", broken(what, f"kubectl label crd NAME {target.selector}".rstrip())))
    for name in groups:
        report.groups[name] = await walk(look, OF_GROUP, name)
    return report


def _as_json(findings: Sequence[Finding]) -> dict[str, Any]:
    found = first_broken(findings)
    hops = [{"hop": one.hop, "state": str(one.verdict.state), "what": one.verdict.what, "remedy": one.verdict.remedy} for one in findings]
    return {"ok": found is None, "broken": found.hop if found else None, "hops": hops}
