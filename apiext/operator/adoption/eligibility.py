"""Whether apiext can serve a group as it is defined now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.meta import host_annotations
from apiext.operator.group_state import annotations_of, condition_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.operator.api_clients import Json
    from apiext.operator.group_state import GroupState


def is_meant(group: GroupState, name: str) -> bool:
    """Return whether a definition of the host is selected, and its hand-over is not requested."""
    return name in group.selected and not host_annotations.wants_hand_over(annotations_of(group.crds[name]))


def blocked(group: GroupState) -> str:
    """Return why apiext cannot serve the group, and the remedy; empty if it can."""
    return "; ".join(_reasons(group))


def _reasons(group: GroupState) -> Iterator[str]:
    if group.unselected:
        names = ", ".join(sorted(group.unselected))
        yield f"all definitions of a group are served by one server: label {names} too, or none"
    for name, crd in sorted(group.selected.items()):
        yield from _reasons_of(name, crd)


def _reasons_of(name: str, crd: Json) -> Iterator[str]:
    strategy = (crd["spec"].get("conversion") or {}).get("strategy")
    if strategy == "Webhook":
        yield f"{name} converts its objects by a webhook, which apiext does not do: set its spec.conversion.strategy to None"
    if not any(version.get("served") for version in crd["spec"]["versions"]):
        yield f"{name} has no version that is served, in which its objects could be read"
    if not holds(crd, "Established"):
        yield f"{name} is not established by the host: see its conditions"


def holds(crd: Json, condition: str) -> bool:
    """Return whether a condition of a definition is True."""
    return bool(condition_of(crd, condition).get("status") == "True")
