"""The order of a restoration into a running server, which collects objects whose owners do not exist: owners before their dependents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.garbagecollector.object_links import links_of, may_matter

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_ROUNDS: Final = 10
"""Each round reads the backup. The last one has all that is left, also circles."""


def rounds_after_owners(pairs: Iterable[tuple[str, bytes]]) -> list[frozenset[str]]:
    """Return the keys of all objects with owners, in rounds: those of an owner come before those of its dependents."""
    left = {key: links for key, value in pairs if may_matter(value) and (links := links_of(value)) is not None and links.references}
    rounds: list[frozenset[str]] = []
    while left:
        uids = {links.uid for links in left.values()}
        due = {key for key, links in left.items() if all(one.uid not in uids for one in links.references)}
        if not due or len(rounds) == _MAX_ROUNDS - 1:
            due = set(left)
        rounds.append(frozenset(due))
        left = {key: links for key, links in left.items() if key not in due}
    return rounds
