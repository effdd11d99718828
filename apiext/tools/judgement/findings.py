"""Collects findings: equal ones of several objects become one."""

from __future__ import annotations

from typing import Final, NamedTuple

from apiext.tools.judgement.outcome import MAX_EXAMPLES, FindingKind, ObjectFinding

_MAX_GROUPS: Final = 500
"""Findings of one kind in one version; the rest counts as one finding."""
_MAX_TEXT: Final = 500
_ORDER: Final = {kind: place for place, kind in enumerate(FindingKind)}


class Group(NamedTuple):
    """What equal findings have in common."""

    kind: FindingKind
    version: str
    path: str
    message: str


class Findings:
    """The findings of all objects, page by page."""

    def __init__(self) -> None:
        self._found: dict[Group, ObjectFinding] = {}
        self._sizes: dict[tuple[FindingKind, str], int] = {}
        self._page: dict[Group, set[str]] = {}
        self._touched: set[str] = set()

    def add(self, key: str, group: Group, *, already: bool = False) -> None:
        """Add a finding of an object; equal ones of one object count once."""
        group = self._group(group)
        keys = self._page.setdefault(group, set())
        if key in keys:
            return
        keys.add(key)
        self._touched.add(key)
        finding = self._found.get(group)
        if finding is None:
            finding = self._found[group] = ObjectFinding(*group)
        finding.count += 1
        finding.already += already
        if len(finding.examples) < MAX_EXAMPLES:
            finding.examples.append(key)

    def end_page(self) -> int:
        """Return how many objects of the page have findings, and begin the next page."""
        found = len(self._touched)
        self._page.clear()
        self._touched.clear()
        return found

    def has(self, key: str, *kinds: FindingKind) -> bool:
        """Return whether an object of the page has a finding of a kind."""
        return any(key in keys for group, keys in self._page.items() if group.kind in kinds)

    def _group(self, group: Group) -> Group:
        if len(group.message) > _MAX_TEXT:
            group = group._replace(message=f"{group.message[:_MAX_TEXT]}...")
        if group in self._found:
            return group
        place = group.kind, group.version
        self._sizes[place] = self._sizes.get(place, 0) + 1
        return group if self._sizes[place] <= _MAX_GROUPS else group._replace(path="", message="more fields or messages")

    def sorted(self) -> list[ObjectFinding]:
        """Return the findings in the order of kinds, versions, paths and messages."""
        return [self._found[group] for group in sorted(self._found, key=lambda group: (_ORDER[group.kind], *group[1:]))]
