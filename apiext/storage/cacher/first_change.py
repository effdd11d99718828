"""Reports that a resource without a cache has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.storage.backend import BackendEvent
    from apiext.storage.cacher.feed import BackendFeed


class FirstChange:
    """A FeedFollower that calls a function once, with the first change or the loss of changes. A cache may take its place before."""

    def __init__(self, feed: BackendFeed, prefix: str, report: Callable[[], None]) -> None:
        self._feed = feed
        self._prefix = prefix
        self._report = report
        feed.follow(prefix, self)

    def apply(self, events: Sequence[BackendEvent]) -> None:
        """Report a change."""
        self._feed.unfollow(self._prefix, self)
        self._report()

    async def reload(self, revision: int, *, anew: bool = False) -> None:
        """Report that there may have been a change."""
        self.apply(())
