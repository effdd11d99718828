"""Authorizers without another server, their union, and the authorization modes of a server in their order.

Mirrors apiserver pkg/authorization (authorizer, authorizerfactory, path, union).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

from apiext.meta.request import MASTERS, UNAUTHENTICATED, RequestInfo, UserInfo

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Decision(Enum):
    """The decision of an authorizer."""

    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision, and the reason that the client gets where the request is not allowed."""

    decision: Decision
    reason: str = ""


ALLOWED: Final = Verdict(Decision.ALLOW)
NO_OPINION: Final = Verdict(Decision.NO_OPINION)


class ReviewError(Exception):
    """An authorizer failed; the client gets the message. With `denied` no later authorizer may allow the request."""

    def __init__(self, message: str, *, denied: bool = False) -> None:
        super().__init__(message)
        self.denied = denied


class Authorizer(Protocol):
    """Decides about requests."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Return the verdict; NO_OPINION leaves the decision to the next authorizer."""
        ...


class PrivilegedGroup:
    """Allows all requests of the members of system:masters."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Return the verdict."""
        return ALLOWED if MASTERS in user.groups else NO_OPINION


class Authenticated:
    """Allows all requests of authenticated users."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Return the verdict."""
        return NO_OPINION if UNAUTHENTICATED in user.groups else ALLOWED


class AlwaysAllowPaths:
    """Allows non-resource paths to all users. A path that ends with `*` is a prefix."""

    def __init__(self, paths: Iterable[str]) -> None:
        texts = [f"/{path.lstrip('/')}" for path in paths]
        self._paths = frozenset(text for text in texts if not text.endswith("*"))
        self._prefixes = tuple(text[:-1] for text in texts if text.endswith("*"))

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Return the verdict."""
        if info.is_resource:
            return NO_OPINION
        path = f"/{info.path.lstrip('/')}"
        return ALLOWED if path in self._paths or path.startswith(self._prefixes) else NO_OPINION


class Union:
    """Asks authorizers in order; the first opinion decides."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Return the first opinion, else NO_OPINION with the reasons of all authorizers."""
        reasons: list[str] = []
        for authorizer in self._authorizers:
            verdict = authorizer.authorize(user, info)
            if verdict is ALLOWED:
                return verdict
            if verdict.decision is not Decision.NO_OPINION:
                return verdict
            if verdict.reason:
                reasons.append(verdict.reason)
        return Verdict(Decision.NO_OPINION, "\n".join(reasons)) if reasons else NO_OPINION


class AsyncAuthorizer(Protocol):
    """Decides with the help of another server."""

    async def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Return the verdict.

        Raises:
            ReviewError: the other server does not decide.
        """
        ...


class AuthorizationModes:
    """A union of `before`, the delegate and `after`, in this order."""

    def __init__(self, *, before: Authorizer, delegate: AsyncAuthorizer | None = None, after: Authorizer | None = None) -> None:
        self.before = before
        self.delegate = delegate
        self._after = after

    async def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Return the first opinion.

        Raises:
            ReviewError: the delegate failed, and no authorizer allows the request.
        """
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
