"""What a list request asks for: which keys, at which revision, how many.

Mirrors apiserver pkg/storage/interfaces.go (ValidateListOptions) and pkg/storage/cacher/delegator (ShouldDelegateList).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from apiext.meta import errors
from apiext.storage import continue_token, keys, versioner
from apiext.storage.interface import ListResult, VersionMatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.storage.interface import Item, ListOptions, Selection


@dataclass(frozen=True, slots=True)
class ListPlan:
    """The request with all of resourceVersion's rules applied."""

    scope: str
    """A prefix, or a single key."""
    selection: Selection
    start: str = ""
    """The first key, relative to the scope."""
    exact: int = 0
    """Serve the state at this revision (0: the latest)."""
    minimum: int = 0
    """The latest state must not be older than this."""
    consistent: bool = False
    """The latest state must hold every write that was acknowledged before."""
    limit: int = 0
    paging: bool = False
    """A page other than the first."""


def plan(prefix: str, options: ListOptions) -> ListPlan:
    """Work out what to read; raises StatusError 400 for a bad resourceVersion or continue token."""
    base = ListPlan(scope=keys.narrow(prefix, options.selection), selection=options.selection, limit=max(options.limit, 0))
    if options.continue_token and not keys.is_single(base.scope):
        token = continue_token.decode(options.continue_token)
        if options.resource_version not in ("", "0"):
            raise errors.bad_request("specifying resource version is not allowed when using continue")
        at = max(token.revision, 0)
        return replace(base, start=token.start, exact=at, consistent=not at, paging=True)
    if not options.resource_version:
        return replace(base, consistent=True)
    revision = versioner.parse(options.resource_version)
    # a limit with a resourceVersion has meant this very revision since before resourceVersionMatch was there to say so
    if options.match is VersionMatch.EXACT or (options.match is VersionMatch.UNSET and base.limit and revision):
        return replace(base, exact=revision)
    return replace(base, minimum=revision)


def page(plan: ListPlan, items: Sequence[Item], *, revision: int, total: int, more: bool, unfiltered: bool) -> ListResult:
    """The answer: with a token for the next page when there is more, and the number left where it is known exactly."""
    if not more or not items:
        return ListResult(items=items, revision=revision)
    after = items[-1].key.removeprefix(plan.scope)
    return ListResult(
        items=items,
        revision=revision,
        continue_token=continue_token.encode_after(after, revision),
        remaining=total - plan.limit if unfiltered else None,
    )
