"""The hops, walked up to the first that is broken.

They are in the order of a request, but that the host's registration of a group comes after all that the operator waits for with it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final

from apiext.operator.checks import definitions, health, host, registration, routing, transport
from apiext.operator.checks.connections import NoAnswerError
from apiext.operator.checks.snapshot import HopError, Look
from apiext.operator.checks.verdict import Finding, State, Verdict, broken

Examine = Callable[[Look, str], Awaitable[Verdict]]


@dataclass(frozen=True, slots=True)
class Hop:
    """A name, and what looks at it."""

    name: str
    examine: Examine


OF_HOST: Final = (
    Hop("host", host.reachable),
    Hop("aggregation layer", host.aggregation),
)
"""What all groups share."""
OF_GROUP: Final = (
    Hop("definitions", definitions.selected),
    Hop("APIServices", registration.pointing),
    Hop("Service", registration.service),
    Hop("connection", transport.connection),
    Hop("certificate", transport.certificate),
    Hop("apiext", health.alive),
    Hop("store", health.store),
    Hop("host's definitions", health.follows),
    Hop("readiness", health.ready),
    Hop("delegation", routing.delegated),
    Hop("copies", definitions.mirrored),
    Hop("discovery", routing.discovery),
    Hop("registration", registration.registered),
    Hop("front proxy", routing.trusted),
    Hop("proxying", routing.through),
    Hop("availability", registration.available),
)


async def walk(look: Look, hops: Iterable[Hop], group: str = "") -> list[Finding]:
    """What is found at each hop; those behind a broken one are not looked at."""
    findings: list[Finding] = []
    for hop in hops:
        if findings and (findings[-1].broken or findings[-1].verdict.state is State.UNSEEN):
            findings.append(Finding(hop.name, Verdict(State.UNSEEN, "not looked at")))
        else:
            findings.append(Finding(hop.name, await _examined(hop, look, group)))
    return findings


def first_broken(findings: Iterable[Finding]) -> Finding | None:
    """Where the way ends, None where it does not."""
    return next((finding for finding in findings if finding.broken), None)


async def _examined(hop: Hop, look: Look, group: str) -> Verdict:
    try:
        return await hop.examine(look, group)
    except (HopError, NoAnswerError) as error:
        return broken(str(error), "give the user the operator's ClusterRole, and see the log of the server that was asked")
