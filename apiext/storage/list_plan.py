"""Plans a list: keys, revision and limit.

Mirrors apiserver pkg/storage/interfaces.go (ValidateListOptions) and pkg/storage/cacher/delegator (ShouldDelegateList).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from apiext.base.meta import errors
from apiext.storage import continue_token, keys, versioner
from apiext.storage.interface import Item, ListOptions, ListResult, Selection, VersionMatch


@dataclass(frozen=True, slots=True)
class ListPlan:
    """A list request with the rules of resourceVersion applied."""

    scope: str
    """A key prefix, or a single key."""
    selection: Selection
    start: str = ""
    """The first key, relative to the scope."""
    exact: int = 0
    """The revision to read; 0 for the latest."""
    minimum: int = 0
    """The minimum revision of the latest state."""
    consistent: bool = False
    """Whether the list must include every write acknowledged before it."""
    limit: int = 0
    paging: bool = False
    """Whether this is a page after the first."""


def plan(prefix: str, options: ListOptions) -> ListPlan:
    """Return the plan for a list.

    Raises:
        StatusError: 400 for a bad resourceVersion or continue token.
    """
    scope, limit = keys.narrow(prefix, options.selection), max(options.limit, 0)
    if not options.resource_version and not options.continue_token:
        return ListPlan(scope=scope, selection=options.selection, consistent=True, limit=limit)
    base = ListPlan(scope=scope, selection=options.selection, limit=limit)
    if options.continue_token and not keys.is_single(base.scope):
        token = continue_token.decode(options.continue_token)
        if options.resource_version not in ("", "0"):
            raise errors.bad_request("specifying resource version is not allowed when using continue")
        at = max(token.revision, 0)
        return replace(base, start=token.start, exact=at, consistent=not at, paging=True)
    if not options.resource_version:
        return replace(base, consistent=True)
    revision = versioner.parse(options.resource_version)
    # a limit with a resourceVersion has meant Exact since before resourceVersionMatch existed
    if options.match is VersionMatch.EXACT or (options.match is VersionMatch.UNSET and base.limit and revision):
        return replace(base, exact=revision)
    return replace(base, minimum=revision)


def page(plan: ListPlan, items: Sequence[Item], *, revision: int, total: int, more: bool, unfiltered: bool) -> ListResult:
    """Return a page, with a continue token if there are more, and with the remaining count if it is known exactly."""
    if not more or not items:
        return ListResult(items=items, revision=revision)
    after = items[-1].key.removeprefix(plan.scope)
    return ListResult(
        items=items,
        revision=revision,
        continue_token=continue_token.encode(f"{after}\0", revision),
        remaining=total - plan.limit if unfiltered else None,
    )
