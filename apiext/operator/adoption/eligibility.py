"""Decides whether apiext can serve a group with its current definitions."""

from __future__ import annotations

from collections.abc import Iterator

from apiext.base.meta import host_annotations
from apiext.operator.group_state import GroupState, annotations_of, is_established, served_versions


def is_meant_for_apiext(group: GroupState, name: str) -> bool:
    """Return whether a definition of the host is selected, and its hand-over is not requested."""
    return name in group.selected and not host_annotations.wants_hand_over(annotations_of(group.crds[name]))


def blocking_reason(group: GroupState) -> str:
    """Return why apiext cannot serve the group, and the remedy; empty if it can."""
    return "; ".join(_reasons(group))


def _reasons(group: GroupState) -> Iterator[str]:
    if group.unselected:
        names = ", ".join(sorted(group.unselected))
        yield f"all definitions of a group are served by one server: label {names} too, or none"
    for name, crd in sorted(group.selected.items()):
        if not served_versions([crd]):
            yield f"{name} has no served version, so its objects cannot be read"
        if not is_established(crd):
            yield f"{name} is not established by the host: see its conditions"
