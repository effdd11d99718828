"""The clientConfig of a webhook: its address and the authorities of its certificate (apiserver pkg/util/webhook/client.go)."""

from __future__ import annotations

import base64
import posixpath
import re
import ssl
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from yarl import URL

from apiext.base.meta.golang.url import parse_url
from apiext.base.tls_trust import trusting_context

if TYPE_CHECKING:
    from collections.abc import Mapping

_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----\s*([A-Za-z0-9+/=\s]+?)-----END CERTIFICATE-----")
HTTPS_PORT: Final = 443
_KEPT_CONTEXTS: Final = 16


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """An address with its trusted certificates."""

    url: URL
    authorities: tuple[bytes, ...] = ()
    """Trusted certificates in DER; empty for the system's."""
    authority: str = ""
    """Host and port as the clientConfig names them; errors show them so."""
    service: str = ""
    """The host of the Service that the clientConfig names."""

    @property
    def shown(self) -> str:
        """Return the URL for errors."""
        return f"https://{self.authority}{self.url.raw_path}"


def parse_client_config(config: Mapping[str, Any]) -> ClientConfig:
    """Return the address and authorities of a validated clientConfig.

    As the reference, ignore user information and query of a URL, and clean its path.

    Raises:
        ValueError: the clientConfig names no server, or its caBundle has no certificate.
    """
    service, host = config.get("service"), ""
    if service is not None:
        host = service_host(service["namespace"], service["name"])
        authority, path = f"{host}:{service.get('port') or HTTPS_PORT}", service.get("path") or ""
    elif config.get("url"):
        parsed = parse_url(config["url"])
        authority, path = parsed.host, URL(f"http://x{parsed.path}").path
    else:
        raise ValueError("webhook configuration must have either service or URL")
    url = URL(f"https://{authority}").with_path(_cleaned(path))
    return ClientConfig(url, _authorities(config.get("caBundle") or ""), authority, host)


def service_host(namespace: str, name: str) -> str:
    """Return the DNS name of a Service, which its certificate must have."""
    return f"{name}.{namespace}.svc"


def _cleaned(path: str) -> str:
    """Return an absolute path without empty and relative segments, and without a slash at the end (Go's path.Join)."""
    return posixpath.normpath("/" + path.lstrip("/"))


def _authorities(bundle: str) -> tuple[bytes, ...]:
    """Return the certificates of a base64-encoded PEM bundle. Raises ValueError for a non-empty bundle without certificates."""
    text = base64.b64decode(bundle).decode("latin-1")
    if not text.strip():
        return ()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    found = tuple(der for block in _CERTIFICATE.finditer(text) if (der := _decoded(block[1], context)))
    if not found:
        raise ValueError("unable to load root certificates: no valid certificate authority data seen")
    return found


def _decoded(body: str, context: ssl.SSLContext) -> bytes:
    """Return a certificate in DER, b"" if a context does not accept it."""
    try:
        der = base64.b64decode("".join(body.split()), validate=True)
        context.load_verify_locations(cadata=der)
    except (ssl.SSLError, ValueError):
        return b""
    return der


@lru_cache(_KEPT_CONTEXTS)
def tls_context(authorities: tuple[bytes, ...]) -> ssl.SSLContext:
    """Return a context that verifies as Go does: a trusted certificate need not be self-signed, and the common name is ignored.

    Cached, because reading the system's authorities takes tens of milliseconds, and calls with the same context share connections.
    """
    context = trusting_context(cadata=b"".join(authorities) or None)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.hostname_checks_common_name = False
    # as the reference: with HTTP/2, all calls would use one connection, and so one of several servers
    context.set_alpn_protocols(["http/1.1"])
    return context
