"""Rules that allow requests without another server, and the authorization modes of a server in their order.

Mirrors apiserver pkg/authorization (authorizer, authorizerfactory, path, union).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from apiext.meta.request import MASTERS, UNAUTHENTICATED, RequestInfo, UserInfo


class Decision(Enum):
    """The decision of an authorizer."""

    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision, and the reason for the client if the request is not allowed."""

    decision: Decision
    reason: str = ""


ALLOWED: Final = Verdict(Decision.ALLOW)
NO_OPINION: Final = Verdict(Decision.NO_OPINION)


class ReviewError(Exception):
    """An authorizer failed; the client gets the message. With `denied`, no later authorizer may allow the request."""

    def __init__(self, message: str, *, denied: bool = False) -> None:
        super().__init__(message)
        self.denied = denied


Authorize = Callable[[UserInfo, RequestInfo], Awaitable[Verdict]]
"""Decides whether a user may make a request. Raises ReviewError if it cannot decide."""
Rule = Callable[[UserInfo, RequestInfo], bool]
"""Returns whether it allows a request; a later rule may allow it otherwise."""


def is_master(user: UserInfo, _info: RequestInfo) -> bool:
    """Allow all requests of the members of system:masters."""
    return MASTERS in user.groups


def is_authenticated(user: UserInfo, _info: RequestInfo) -> bool:
    """Allow all requests of authenticated users."""
    return UNAUTHENTICATED not in user.groups


def always_allow_paths(paths: Iterable[str]) -> Rule:
    """Return a rule that allows non-resource paths to all users. A path that ends with `*` is a prefix."""
    texts = [f"/{path.lstrip('/')}" for path in paths]
    exact = frozenset(text for text in texts if not text.endswith("*"))
    prefixes = tuple(text[:-1] for text in texts if text.endswith("*"))

    def allows(_user: UserInfo, info: RequestInfo) -> bool:
        path = f"/{info.path.lstrip('/')}"
        return not info.is_resource and (path in exact or path.startswith(prefixes))

    return allows


class AuthorizationModes:
    """The rules `before`, another server's decision, and the rules `after`, in this order."""

    def __init__(self, *, before: Sequence[Rule], delegate: Authorize | None = None, after: Sequence[Rule] = ()) -> None:
        self._before = before
        self.delegate = delegate
        self._after = after

    def authorize_here(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Return the verdict of the rules `before`."""
        for rule in self._before:
            if rule(user, info):
                return ALLOWED
        return NO_OPINION

    async def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Return the first verdict other than NO_OPINION, or NO_OPINION.

        Raises:
            ReviewError: the delegate failed, and no rule allows the request.
        """
        verdict = self.authorize_here(user, info)
        if verdict is ALLOWED or self.delegate is None:
            return verdict
        try:
            verdict = await self.delegate(user, info)
        except ReviewError as error:
            if error.denied or not any(rule(user, info) for rule in self._after):
                raise
            return ALLOWED
        if verdict.decision is Decision.NO_OPINION and any(rule(user, info) for rule in self._after):
            return ALLOWED
        return verdict
