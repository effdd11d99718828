"""Bearer tokens from a file: token, user name, uid and, optionally, groups in each line.

Mirrors apiserver pkg/authentication/token/tokenfile and pkg/authentication/request/bearertoken.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from apiext.meta.request import UserInfo

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class TokenFileError(Exception):
    """The file cannot be used; the message is one line that says why."""


def load(path: Path) -> Mapping[str, UserInfo]:
    """Read the users by their tokens.

    Raises:
        TokenFileError: the file cannot be read, or a line has fewer than three columns or an empty token.
    """
    users: dict[str, UserInfo] = {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.reader(file, skipinitialspace=True):
                if not row or row[0].startswith("#"):
                    continue
                token, user = _user(row)
                users[token] = user
    except OSError as error:
        raise TokenFileError(f"{path}: {error.strerror}") from error
    except (ValueError, csv.Error) as error:
        raise TokenFileError(f"{path}: {error}") from error
    return users


def _user(row: list[str]) -> tuple[str, UserInfo]:
    if len(row) < 3:
        raise ValueError(f"a line needs at least the columns token, user name and user uid, found {len(row)}")
    token, name, uid, *rest = row
    if not token:
        raise ValueError(f"the token of user {name!r} is empty")
    groups = tuple(group for group in rest[0].split(",") if group) if rest else ()
    return token, UserInfo(name=name, uid=uid, groups=groups)


def bearer_token(authorization: str) -> str:
    """The token of an Authorization header, empty where it holds none."""
    scheme, _, token = authorization.strip().partition(" ")
    return token.split(" ", 1)[0] if scheme.lower() == "bearer" else ""
