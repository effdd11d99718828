"""Rules that allow requests without another server, and the authorization modes of a server in their order.

Mirrors apiserver pkg/authorization (authorizer, authorizerfactory, path, union).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from apiext.base.meta.request import MASTERS, UNAUTHENTICATED, RequestInfo, UserInfo


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
Decide = Callable[[UserInfo, RequestInfo], Verdict]
"""Decides at once."""


def is_master(user: UserInfo, _info: RequestInfo) -> Verdict:
    """Allow all requests of the members of system:masters."""
    return ALLOWED if MASTERS in user.groups else NO_OPINION


def is_authenticated(user: UserInfo, _info: RequestInfo) -> Verdict:
    """Allow all requests of authenticated users."""
    return NO_OPINION if UNAUTHENTICATED in user.groups else ALLOWED


def always_allow_paths(paths: Iterable[str]) -> Decide:
    """Return what allows non-resource paths to all users. A path that ends with `*` is a prefix."""
    texts = [f"/{path.lstrip('/')}" for path in paths]
    exact = frozenset(text for text in texts if not text.endswith("*"))
    prefixes = tuple(text[:-1] for text in texts if text.endswith("*"))

    def allows(_user: UserInfo, info: RequestInfo) -> Verdict:
        if info.is_resource:
            return NO_OPINION
        path = f"/{info.path.lstrip('/')}"
        return ALLOWED if path in exact or path.startswith(prefixes) else NO_OPINION

    return allows


class AuthorizationModes:
    """The decisions `before`, another server's decision, and the decisions `after`, in this order."""

    def __init__(self, *, before: Sequence[Decide], delegate: Authorize | None = None, after: Sequence[Decide] = ()) -> None:
        self._before = before
        self.delegate = delegate
        self._after = after

    def authorize_here(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Return the verdict of the decisions `before`."""
        # a loop here, since every request comes by
        for decide in self._before:
            verdict = decide(user, info)
            if verdict is not NO_OPINION:
                return verdict if verdict is ALLOWED or verdict.decision is not Decision.NO_OPINION else _first(self._before, user, info)
        return NO_OPINION

    async def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Return the first verdict other than NO_OPINION, else NO_OPINION with all reasons.

        Raises:
            ReviewError: the delegate failed, and no later decision allows the request.
        """
        here = self.authorize_here(user, info)
        if here.decision is not Decision.NO_OPINION or self.delegate is None:
            return here
        try:
            verdict = await self.delegate(user, info)
        except ReviewError as error:
            if error.denied or (late := _first(self._after, user, info)).decision is Decision.NO_OPINION:
                raise
            return late
        if verdict.decision is not Decision.NO_OPINION:
            return verdict
        late = _first(self._after, user, info)
        return late if late.decision is not Decision.NO_OPINION else _joined(here, verdict, late)


def _first(decisions: Sequence[Decide], user: UserInfo, info: RequestInfo) -> Verdict:
    undecided = NO_OPINION
    for decide in decisions:
        verdict = decide(user, info)
        if verdict.decision is not Decision.NO_OPINION:
            return verdict
        if verdict.reason:
            undecided = _joined(undecided, verdict)
    return undecided


def _joined(*verdicts: Verdict) -> Verdict:
    reasons = [verdict.reason for verdict in verdicts if verdict.reason]
    return Verdict(Decision.NO_OPINION, "\n".join(reasons)) if reasons else NO_OPINION
