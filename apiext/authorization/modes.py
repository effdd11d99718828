"""All authorizers of a server in the order in which they are asked, as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from apiext.authorization.authorizer import Authorizer, Decision, ReviewError, Verdict

if TYPE_CHECKING:
    from apiext.meta.request import RequestInfo, UserInfo


class Delegate(Protocol):
    """Decides by asking somebody else."""

    async def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """The verdict. Raises ReviewError."""
        ...


class Modes:
    """What `before` allows, else what the delegate allows, else what `after` does."""

    def __init__(self, *, before: Authorizer, delegate: Delegate | None = None, after: Authorizer | None = None) -> None:
        self.before = before
        self.delegate = delegate
        self._after = after

    async def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """The verdict of all. Raises ReviewError where nobody has allowed it and the delegate could not be asked."""
        verdict, failure = self.before.authorize(user, info), None
        if verdict.decision is Decision.NO_OPINION and self.delegate is not None:
            try:
                verdict = await self.delegate.authorize(user, info)
            except ReviewError as error:
                failure = error
        if verdict.decision is Decision.NO_OPINION and self._after is not None and not (failure and failure.denied):
            other = self._after.authorize(user, info)
            verdict = other if other.decision is not Decision.NO_OPINION else verdict
        if failure is not None and verdict.decision is not Decision.ALLOW:
            raise failure
        return verdict
