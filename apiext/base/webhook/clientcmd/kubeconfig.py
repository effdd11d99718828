"""Kubeconfig files: the address of another server, and the credentials for it (client-go tools/clientcmd).

Kubeconfig schema: client-go tools/clientcmd/api/v1/types.go.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import ssl
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from yarl import URL

from apiext.base.meta.configuration import parse_configuration
from apiext.base.tls_trust import trusting_context
from apiext.base.webhook.clientcmd.credentials import CachedCredential, Credential, basic_authorization
from apiext.base.webhook.proxy_environment import proxy_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_UNSUPPORTED: Final = ("as", "as-uid", "as-groups", "as-user-extra")
"""Fields of a user that request impersonation; `load` refuses a kubeconfig with one of them."""

_PROXY_SCHEMES: Final = ("http", "https")


Schema = dict[str, Any]


def _type(name: str, **keywords: Any) -> Schema:
    return {"type": [name, "null"], **keywords}


_STRING: Final = _type("string")
_BOOLEAN: Final = _type("boolean")


def _object(*strings: str, **others: Schema) -> Schema:
    """Return the schema of an object, given its string fields and, with `_` for `-`, its other fields."""
    return _type("object", properties=dict.fromkeys(strings, _STRING) | {name.replace("_", "-"): other for name, other in others.items()})


def _list(**fields: Schema) -> Schema:
    """Return the schema of a list of objects with a name."""
    return _type("array", items=_object("name", **fields) | {"type": "object"})


_CLUSTER: Final = _object(
    "server",
    "tls-server-name",
    "certificate-authority",
    "certificate-authority-data",
    "proxy-url",
    insecure_skip_tls_verify=_BOOLEAN,
    extensions=_list(),
)
_EXEC: Final = _object(
    "apiVersion",
    "command",
    "installHint",
    "interactiveMode",
    args=_type("array", items={"type": "string"}),
    env=_list(value=_STRING),
    provideClusterInfo=_BOOLEAN,
)
_USER: Final = _object(
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
    "token",
    "tokenFile",
    "username",
    "password",
    exec=_EXEC,
    auth_provider=_object("name", config=_type("object", additionalProperties=_STRING)),
)
_CONTEXT: Final = _object("cluster", "user")
KUBECONFIG: Final = _object(
    "current-context", contexts=_list(context=_CONTEXT), clusters=_list(cluster=_CLUSTER), users=_list(user=_USER)
) | {"type": "object"}


class KubeconfigError(Exception):
    """A kubeconfig cannot be used. The message is one line with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The address of a server, with the TLS context and the credentials for it."""

    url: str
    """Without a slash at the end."""
    context: ssl.SSLContext | None
    """None for plain HTTP."""
    server_name: str = ""
    """The required name in the certificate; empty for the URL's host."""
    proxy: URL | None = None
    """The HTTP proxy of the connections, perhaps with user and password."""
    authorization: str = ""
    """The Authorization header, unless a token file or a plugin supplies it."""
    token_file: Path | None = None
    """Read again for each call: tokens are rotated."""
    plugin: CachedCredential | None = None
    """The credential of an exec plugin or auth provider."""

    async def credential(self) -> Credential:
        """Return the credential of the next call.

        Raises:
            OSError: the token file cannot be read.
            CredentialError: the plugin failed.
        """
        if self.plugin is not None:
            return await self.plugin.get()
        if self.token_file is not None:
            return Credential(f"Bearer {self.token_file.read_text().strip()}")
        return Credential(self.authorization)

    def reject(self, credential: Credential) -> bool:
        """Drop a credential after a 401; return whether there may be a new one."""
        return self.plugin is not None and self.plugin.reject(credential)

    def use_certificate(self, credential: Credential) -> None:
        """Use the client certificate of a credential for new connections. Raises ssl.SSLError for an invalid one."""
        if self.context is not None and credential.certificate:
            _load_certificate(self.context, credential.certificate)


def load(path: Path) -> Endpoint:
    """Return the server and the credentials of a kubeconfig's current context.

    Raises:
        KubeconfigError: the file cannot be read, is incomplete, or has credentials that are not supported.
    """
    return load_merged([path])[1]


def load_merged(paths: Sequence[Path], context: str = "") -> tuple[str, Endpoint]:
    """Return the name of a context ("" for the current one) in kubeconfigs, with its server and credentials.

    Of entries with the same name the first counts. Missing files are left out if there are several, as in client-go.

    Raises:
        KubeconfigError: as `load`, or no file has the context.
    """
    present = [path for path in paths if path.exists()] if len(paths) > 1 else paths
    files: list[_File] = []
    path = paths[0]
    try:
        for path in present or paths:
            files.append(_File(parse_configuration(path.read_bytes(), KUBECONFIG), path.absolute().parent))
        return _endpoint(files, context)
    except OSError as error:
        raise KubeconfigError(f"{error.filename or path}: {error.strerror or error}") from error
    except (ValueError, TypeError) as error:
        raise KubeconfigError(f"{os.pathsep.join(map(str, paths))}: {error}") from error


def proxy_for(url: str, configured: str = "", environ: Mapping[str, str] = os.environ) -> URL | None:
    """Return the proxy for a server: the configured one, else the environment's, as client-go does.

    Raises:
        ValueError: the proxy is not supported.
    """
    proxy = URL(configured) if configured else proxy_of(URL(url), environ)
    if proxy is not None and (proxy.scheme not in _PROXY_SCHEMES or not proxy.host):
        origin = "cluster's proxy-url" if configured else "environment's proxy"
        raise ValueError(f"the {origin} has scheme {proxy.scheme!r}; only http and https proxies are supported")
    return proxy


@dataclass(frozen=True, slots=True)
class _File:
    config: Mapping[str, Any]
    folder: Path


def _endpoint(files: Sequence[_File], name: str) -> tuple[str, Endpoint]:
    name = name or next(filter(None, (file.config.get("current-context") for file in files)), "")
    context, _ = _named(files, "contexts", name, "context")
    cluster, cluster_folder = _named(files, "clusters", context.get("cluster") or "", "cluster")
    user, folder = _named(files, "users", context["user"], "user") if context.get("user") else ({}, cluster_folder)
    _check_supported(user)
    url = (cluster.get("server") or "").rstrip("/")
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"the cluster's server {url!r} is not a URL")
    authorization, token_file = _authorization(user), user.get("tokenFile")
    return name, Endpoint(
        url=url,
        context=_tls(cluster, cluster_folder, user, folder) if url.startswith("https://") else None,
        server_name=cluster.get("tls-server-name") or "",
        proxy=proxy_for(url, cluster.get("proxy-url") or ""),
        authorization=authorization,
        token_file=folder / token_file if token_file else None,
        # as in client-go, a plugin runs only if nothing else sets the Authorization header
        plugin=None if authorization or token_file else _plugin(user, cluster, folder),
    )


def user_endpoint(user: Mapping[str, Any], folder: Path, url: str, context: ssl.SSLContext) -> Endpoint:
    """Return a server with the credentials of a user, whose paths are relative to a folder. The context gets the user's certificate.

    Raises:
        ValueError: the credentials are not supported or invalid.
        OSError: a file cannot be read.
    """
    _check_supported(user)
    _use_certificate(context, user, folder)
    authorization, token_file = _authorization(user), user.get("tokenFile")
    return Endpoint(
        url=url,
        context=context,
        authorization=authorization,
        token_file=folder / token_file if token_file else None,
        plugin=None if authorization or token_file else _plugin(user, {}, folder),
    )


def _check_supported(user: Mapping[str, Any]) -> None:
    for unsupported in _UNSUPPORTED:
        if unsupported in user:
            raise ValueError(f"the user's {unsupported} is not supported")


def _plugin(user: Mapping[str, Any], cluster: Mapping[str, Any], folder: Path) -> CachedCredential | None:
    """Return the credential of the user's exec or auth-provider section, None without one. Raises ValueError or OSError."""
    if user.get("exec") and user.get("auth-provider"):
        raise ValueError("the user has both exec and auth-provider")
    for section in ("exec", "auth-provider"):
        if user.get(section) is not None:
            return _cached_plugin(section, json.dumps(user[section]), json.dumps(cluster), folder)
    return None


@lru_cache(maxsize=32)
def _cached_plugin(section: str, user: str, cluster: str, folder: Path) -> CachedCredential:
    """Return a credential that all endpoints with the same plugin share, so that it runs once (client-go exec.go, globalCache)."""
    if section == "exec":
        from apiext.base.webhook.clientcmd.exec_plugin import exec_plugin

        return CachedCredential(exec_plugin(json.loads(user), json.loads(cluster), folder))
    from apiext.base.webhook.clientcmd.auth_provider import auth_provider

    return CachedCredential(auth_provider(json.loads(user), folder))


def _named(files: Sequence[_File], kind: str, name: str, member: str) -> tuple[Mapping[str, Any], Path]:
    """Return the entry of a name, and the folder of its relative paths."""
    for file in files:
        for entry in file.config.get(kind) or ():
            if entry.get("name") == name:
                return entry.get(member) or {}, file.folder
    raise ValueError(f"{kind} has no {name!r}")


def _authorization(user: Mapping[str, Any]) -> str:
    if user.get("token"):
        return f"Bearer {user['token']}"
    if user.get("username"):
        return basic_authorization(user["username"], user.get("password") or "")
    return ""


def _tls(cluster: Mapping[str, Any], cluster_folder: Path, user: Mapping[str, Any], folder: Path) -> ssl.SSLContext:
    authority = _content(cluster, "certificate-authority", cluster_folder)
    context = trusting_context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    _use_certificate(context, user, folder)
    return context


def _use_certificate(context: ssl.SSLContext, user: Mapping[str, Any], folder: Path) -> None:
    certificate, key = _content(user, "client-certificate", folder), _content(user, "client-key", folder)
    if certificate and key:
        _load_certificate(context, certificate + b"\n" + key)


def _load_certificate(context: ssl.SSLContext, pem: bytes) -> None:
    # the ssl module reads files only
    with tempfile.TemporaryDirectory() as private:
        path = Path(private) / "client.pem"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
        context.load_cert_chain(path)


def _content(source: Mapping[str, Any], name: str, folder: Path) -> bytes:
    """Return the data of a field or the content of its file, empty without both. Raises ValueError or OSError."""
    data = source.get(f"{name}-data")
    if data:
        try:
            return base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise ValueError(f"{name}-data is not base64") from error
    path = source.get(name)
    return (folder / path).read_bytes() if path else b""
