"""The users of a kubeconfig by the webhooks that they call (apiserver pkg/util/webhook/authentication.go)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.configuration import parse_configuration
from apiext.base.webhook.clientcmd.kubeconfig import KUBECONFIG, Endpoint, KubeconfigError, user_endpoint

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Mapping

_HTTPS_PORT: Final = 443
_EVERYTHING: Final = "*"


@dataclass(frozen=True, slots=True)
class HookUser:
    """The user that calls a webhook."""

    _user: Mapping[str, Any]
    _folder: Path

    def endpoint(self, url: str, context: ssl.SSLContext) -> Endpoint:
        """Return a webhook with the user's credentials; the context gets the user's certificate.

        Raises:
            ValueError: the credentials cannot be used.
        """
        if self._user.get("auth-provider"):
            raise ValueError("auth provider not supported")
        try:
            return user_endpoint(self._user, self._folder, url, context)
        except OSError as error:
            raise ValueError(str(error)) from error


class HookUsers:
    """Finds users by the hosts and ports in their names."""

    def __init__(self, config: Mapping[str, Any], folder: Path) -> None:
        """Take the users of a kubeconfig. Paths in it are relative to a folder."""
        self._users: dict[str, Mapping[str, Any]] = {}
        for entry in config.get("users") or ():
            self._users.setdefault(entry.get("name") or "", entry.get("user") or {})
        self._folder = folder
        contexts = {entry.get("name"): entry.get("context") or {} for entry in config.get("contexts") or ()}
        self._current: str = (contexts.get(config.get("current-context")) or {}).get("user") or ""

    def user(self, host: str, port: int) -> HookUser | None:
        """Return the user for a server, None for an anonymous one."""
        user = next((self._users[name] for name in self._names(host, port) if name in self._users), None)
        return None if user is None else HookUser(user, self._folder)

    def _names(self, host: str, port: int) -> Iterator[str]:
        """Yield the names of users for a server; the first one that exists counts."""
        yield from _patterns(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        if port == _HTTPS_PORT:
            yield from _patterns(host)
        yield _EVERYTHING
        if self._current:
            yield self._current


def _patterns(target: str) -> Iterator[str]:
    """Yield a name and the patterns of its parents: a.b.c, *.b.c, *.c."""
    yield target
    rest = target
    while "." in rest:
        rest = rest.partition(".")[2]
        yield f"*.{rest}"


def load_users(path: Path) -> HookUsers:
    """Return the users of a kubeconfig.

    Raises:
        KubeconfigError: the file cannot be read.
    """
    try:
        return HookUsers(parse_configuration(path.read_bytes(), KUBECONFIG), path.absolute().parent)
    except OSError as error:
        raise KubeconfigError(f"{error.filename or path}: {error.strerror or error}") from error
    except (ValueError, TypeError) as error:
        raise KubeconfigError(f"{path}: {error}") from error
