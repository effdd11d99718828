"""Authorizers and how several of them decide together.

Mirrors apiserver pkg/authorization (authorizer, authorizerfactory, path, union).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

from apiext.meta.user import MASTERS, UNAUTHENTICATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from apiext.meta.request import RequestInfo, UserInfo


class Decision(Enum):
    """What an authorizer says."""

    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision and, for a refusal, its reason in words for the client."""

    decision: Decision
    reason: str = ""


ALLOWED: Final = Verdict(Decision.ALLOW)
NO_OPINION: Final = Verdict(Decision.NO_OPINION)


class ReviewError(Exception):
    """There is no usable decision; the message says why, in words for the client. `denied`: no other authorizer may allow it."""

    def __init__(self, message: str, *, denied: bool = False) -> None:
        super().__init__(message)
        self.denied = denied


class Authorizer(Protocol):
    """Decides about one request."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """The verdict; NO_OPINION leaves it to the next authorizer."""
        ...


class PrivilegedGroup:
    """Allows everything to the members of one group."""

    def __init__(self, group: str = MASTERS) -> None:
        self._group = group

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """See Authorizer."""
        return ALLOWED if self._group in user.groups else NO_OPINION


class Authenticated:
    """Allows everything to everybody who has shown credentials."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """See Authorizer."""
        return NO_OPINION if UNAUTHENTICATED in user.groups else ALLOWED


class AlwaysAllowPaths:
    """Allows some paths, which are no resources, to everybody. A path that ends with `/*` stands for all below it."""

    def __init__(self, paths: Iterable[str]) -> None:
        texts = [f"/{path.lstrip('/')}" for path in paths]
        self._paths = frozenset(text for text in texts if not text.endswith("*"))
        self._prefixes = tuple(text[:-1] for text in texts if text.endswith("*"))

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """See Authorizer."""
        if info.is_resource:
            return NO_OPINION
        path = f"/{info.path.lstrip('/')}"
        return ALLOWED if path in self._paths or path.startswith(self._prefixes) else NO_OPINION


class Union:
    """Asks one authorizer after the other; the first that has an opinion decides."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """The first opinion; the reasons of all where nobody has one."""
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
