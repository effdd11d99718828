"""Kubeconfig files: another server's address, and the credentials for it (client-go tools/clientcmd)."""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNSUPPORTED: Final = ("exec", "auth-provider", "as", "impersonate")


class KubeconfigError(Exception):
    """The file cannot be used; the message is one line that says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server and how to get in."""

    url: str
    """Without a slash at the end."""
    context: ssl.SSLContext | None
    """None for plain HTTP."""
    server_name: str = ""
    """The name that the certificate has to have; empty for the URL's."""
    authorization: str = ""
    """The Authorization header, unless a token file has it."""
    token_file: Path | None = None
    """Read again for each call: tokens are renewed."""

    def headers(self) -> dict[str, str]:
        """What tells the server who calls. Raises OSError."""
        if self.token_file is not None:
            return {"Authorization": f"Bearer {self.token_file.read_text().strip()}"}
        return {"Authorization": self.authorization} if self.authorization else {}


def load(path: Path) -> Endpoint:
    """Read the server and user of the current context.

    Raises:
        KubeconfigError: the file cannot be read, names nothing, or asks for a way in that there is not.
    """
    # loaded when a file is named, which most servers never do
    import yaml

    try:
        config = yaml.safe_load(path.read_bytes())
        return _endpoint(config, path.parent)
    except OSError as error:
        raise KubeconfigError(f"{error.filename or path}: {error.strerror or error}") from error
    except yaml.YAMLError as error:
        raise KubeconfigError(f"{path}: it is not YAML") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise KubeconfigError(f"{path}: {error}") from error


def _endpoint(config: Any, folder: Path) -> Endpoint:
    if not isinstance(config, dict):
        raise ValueError("it is not a kubeconfig")  # noqa: TRY004 -- told with the others
    context = _named(config, "contexts", config.get("current-context", ""), "context")
    cluster = _named(config, "clusters", context.get("cluster", ""), "cluster")
    user = _named(config, "users", context["user"], "user") if context.get("user") else {}
    for name in _UNSUPPORTED:
        if name in user:
            raise ValueError(f"the user's {name} is not supported")
    url = str(cluster.get("server", "")).rstrip("/")
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"the cluster's server {url!r} is no URL")
    token_file = user.get("tokenFile")
    return Endpoint(
        url=url,
        context=_tls(cluster, user, folder) if url.startswith("https://") else None,
        server_name=cluster.get("tls-server-name", ""),
        authorization=_authorization(user),
        token_file=folder / token_file if token_file else None,
    )


def _named(config: Mapping[str, Any], kind: str, name: str, member: str) -> Mapping[str, Any]:
    for entry in config.get(kind) or ():
        if entry.get("name") == name and isinstance(entry.get(member), dict):
            found: Mapping[str, Any] = entry[member]
            return found
    raise ValueError(f"{kind} has no {name!r}")


def _authorization(user: Mapping[str, Any]) -> str:
    if user.get("token"):
        return f"Bearer {user['token']}"
    if user.get("username"):
        return "Basic " + base64.b64encode(f"{user['username']}:{user.get('password', '')}".encode()).decode()
    return ""


def _tls(cluster: Mapping[str, Any], user: Mapping[str, Any], folder: Path) -> ssl.SSLContext:
    authority = _content(cluster, "certificate-authority", folder)
    certificate, key = _content(user, "client-certificate", folder), _content(user, "client-key", folder)
    context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate and key:
        # The ssl module reads files only.
        with tempfile.TemporaryDirectory() as private:
            pem = Path(private) / "client.pem"
            with os.fdopen(os.open(pem, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(certificate + b"\n" + key)
            context.load_cert_chain(pem)
    return context


def _content(source: Mapping[str, Any], name: str, folder: Path) -> bytes:
    """What a field holds as data, or the file that it names."""
    data = source.get(f"{name}-data")
    if data:
        try:
            return base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise ValueError(f"{name}-data is not base64") from error
    path = source.get(name)
    return (folder / path).read_bytes() if path else b""
