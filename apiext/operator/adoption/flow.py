"""One look at a group with definitions on the host: the next steps of its way, and who should serve it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.operator.group import Desired, Routing
from apiext.operator.report import Reason

if TYPE_CHECKING:
    from apiext.operator.clients import Clients
    from apiext.operator.group import GroupState, Hands
    from apiext.operator.report import Reporter


async def reconcile_group(group: GroupState, clients: Clients, report: Reporter, hands: Hands) -> Desired:  # noqa: ARG001
    """Take the group as far as it goes now.

    It is called again when anything of the group changes, and is cancelled where this operator may not act any more. A group
    that comes here has a definition on the host that is selected, held by the finalizer, or mirrored.

    Raises:
        ApiError: a step failed; it is called again, later and later.
    """
    if group.unselected and not group.held:
        names = ", ".join(sorted(group.unselected))
        await report.condition(group.selected.values(), Reason.BLOCKED, f"all definitions of the group must be selected; {names} are not")
    return Desired(routing=Routing.AS_IT_IS)


async def forget_group(name: str, clients: Clients) -> None:
    """Remove what adoption has left on the host for a group that has no definition there any more. Raises ApiError."""
    for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        path = f"/apis/admissionregistration.k8s.io/v1/{kind}/apiext-{name}"
        if await clients.host.find(path) is not None:
            await clients.host.delete(path)
