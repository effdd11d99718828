"""Names of users and groups that have a meaning of their own (apiserver pkg/authentication/user)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from apiext.meta.request import UserInfo

MASTERS: Final = "system:masters"
"""The group that may do everything."""
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"

ANONYMOUS: Final = UserInfo(name="system:anonymous", groups=(UNAUTHENTICATED,))
"""Who sends a request without credentials."""


def authenticated(user: UserInfo) -> UserInfo:
    """The user with the group of all authenticated users added, unless it is the anonymous one."""
    if user.name == ANONYMOUS.name or AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))
