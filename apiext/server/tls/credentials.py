"""Loads the server's certificates, client CAs and static tokens from the options, and writes the kubeconfig of its admin user."""

from __future__ import annotations

import base64
import socket
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from apiext.api.authentication.bearer_token import TokenFileError, load_token_file
from apiext.api.authentication.client_certificate import CertificateAuthorities, PeerIdentification
from apiext.base.atomic_files import read_file, write_file
from apiext.base.cert import certificate
from apiext.server.start_error import StartError
from apiext.server.tls.certificate_rotation import CertificateRotation, WatchedFiles
from apiext.server.tls.context import CertKey, TLSError, read_authorities
from apiext.server.tls.dynamic_tls import DynamicTLS
from apiext.server.tls.server_pki import KeyPair, Pki, ensure_pki

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from apiext.base.meta.request import UserInfo
    from apiext.server.options.options import ServerOptions

_ANY: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 -- compared, not bound
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_PKCS8: Final = "-----BEGIN PRIVATE KEY-----"
_KUBECONFIG: Final = """\
apiVersion: v1
kind: Config
clusters:
- name: apiext
  cluster:
    server: {url}
{authority}contexts:
- name: apiext
  context:
    cluster: apiext
    user: apiext-admin
current-context: apiext
users:
- name: apiext-admin
  user:
    client-certificate-data: {cert}
    client-key-data: {key}
"""


@dataclass(frozen=True, slots=True)
class ServerCredentials:
    """The server's certificates and the means to authenticate its clients."""

    dynamic_tls: DynamicTLS
    tokens: Mapping[str, UserInfo]
    pki: Pki | None
    """The server's own certificates, None if options replace them all."""
    kubeconfig: Path | None
    """The path of the admin's kubeconfig, None if the server has no client CA of its own."""
    trust: Path | None
    """The server's own CA of the serving certificate, None if the certificate comes from files."""
    files: Sequence[WatchedFiles]
    """The files behind `dynamic_tls`."""

    def write_kubeconfig(self, url: str) -> None:
        """Write the admin's kubeconfig with embedded certificates, if there is an admin. Keep a file with the same content.

        Without `trust`, it makes clients verify the server with the system's authorities.

        Raises:
            StartError: the file cannot be written.
        """
        if self.kubeconfig is None or self.pki is None:
            return
        admin = self.pki.admin
        try:
            trust = f"    certificate-authority-data: {_base64(self.trust)}\n" if self.trust else ""
            text = _KUBECONFIG.format(url=url, authority=trust, cert=_base64(admin.cert), key=_client_key(admin.key))
            if read_file(self.kubeconfig) != text:
                write_file(self.kubeconfig, text, mode=0o600)
        except OSError as error:
            raise StartError(f"cannot write the kubeconfig: {self.kubeconfig}: {error.strerror}") from error

    def expirations(self) -> dict[str, float]:
        """Return the expirations of the serving certificates and of the own CA, in seconds since 1970."""
        shown = [certificate.end_of_validity(keys.cert.decode("ascii", "replace")) for keys in self.dynamic_tls.keys]
        found = {f"sni-{place}" if place else "serving": end for place, end in enumerate(shown)}
        if self.pki is not None:
            found["ca"] = certificate.end_of_validity(read_file(self.pki.authority.cert))
        return {name: moment.timestamp() for name, moment in found.items() if moment is not None}

    def rotation(self, options: ServerOptions, url: str) -> CertificateRotation:
        """Return the rotation of the files and of the own certificates. `url` is the URL of this server."""
        return CertificateRotation(self.files, partial(self.renew, options, url))

    def renew(self, options: ServerOptions, url: str) -> None:
        """Renew own certificates that expire soon, and the kubeconfig if it refers to this server.

        Raises:
            StartError: a file cannot be read or written.
        """
        if self.pki is None:
            return
        _own_pki(options)
        try:
            is_ours = self.kubeconfig is not None and f"    server: {url}\n" in read_file(self.kubeconfig)
        except (OSError, ValueError) as error:
            raise StartError(f"cannot read the kubeconfig: {error}") from error
        if is_ours:
            self.write_kubeconfig(url)


def load_credentials(options: ServerOptions) -> ServerCredentials:
    """Load the files of the options, and create the missing certificates.

    Raises:
        StartError: a file cannot be read or written, or is invalid.
    """
    serving, authentication = options.serving, options.authentication
    own_clients = authentication.client_ca_file is None and not authentication.looks_up
    if serving.cert_file is not None and serving.key_file is not None:
        pki = _own_pki(options) if own_clients else None
        pair, trust = KeyPair(serving.cert_file, serving.key_file), None
    else:
        pki = _own_pki(options)
        pair, trust = pki.serving, pki.authority.cert
    client_ca = pki.authority.cert if own_clients and pki else authentication.client_ca_file
    proxy_ca = authentication.front_proxy_ca_file
    try:
        identification = PeerIdentification(
            # no authorities until the ConfigMap of the cluster is read
            clients=CertificateAuthorities(read_authorities(client_ca) if client_ca else b""),
            proxies=CertificateAuthorities(read_authorities(proxy_ca)) if proxy_ca else None,
            proxy_names=frozenset(authentication.front_proxy_names),
        )
        named = [(KeyPair(one.cert_file, one.key_file), one.names) for one in serving.named]
        keys = [CertKey.read(*one) for one in [(pair, ()), *named]]
        dynamic_tls = DynamicTLS(
            keys,
            identification,
            min_version=serving.min_tls_version,
            address=serving.bind_address,
            http2=serving.http2 is not None,
        )
        tokens = load_token_file(authentication.token_file) if authentication.token_file else {}
    except (TLSError, TokenFileError) as error:
        raise StartError(str(error)) from error
    return ServerCredentials(
        dynamic_tls=dynamic_tls,
        tokens=tokens,
        pki=pki,
        kubeconfig=serving.cert_dir / "apiext.kubeconfig" if own_clients else None,
        trust=trust,
        files=watched_files(dynamic_tls, [(pair, ()), *named], client_ca, proxy_ca),
    )


def _own_pki(options: ServerOptions) -> Pki:
    serving = options.serving
    hosts = [*_LOOPBACK, serving.bind_address, socket.gethostname()]
    hosts = [host for host in dict.fromkeys(hosts) if host and host not in _ANY]
    try:
        return ensure_pki(serving.cert_dir, hosts)
    except (OSError, ValueError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StartError(f"cannot store certificates in {serving.cert_dir}: {reason}") from error


def watched_files(
    dynamic_tls: DynamicTLS, keys: Sequence[tuple[KeyPair, tuple[str, ...]]], client_ca: Path | None, proxy_ca: Path | None
) -> list[WatchedFiles]:
    """Return the files of certificates and client CAs, with functions that reload them into `dynamic_tls`."""

    def reload_certificate(pair: KeyPair, names: tuple[str, ...], place: int) -> bool:
        return dynamic_tls.set_certificate(CertKey.read(pair, names), place=place)

    def reload_client_ca(path: Path) -> bool:
        return dynamic_tls.set_client_trust(replace(dynamic_tls.identification, clients=CertificateAuthorities(read_authorities(path))))

    def reload_proxy_ca(path: Path) -> bool:
        return dynamic_tls.set_client_trust(replace(dynamic_tls.identification, proxies=CertificateAuthorities(read_authorities(path))))

    watched = [
        WatchedFiles([pair.cert, pair.key], partial(reload_certificate, pair, names, place)) for place, (pair, names) in enumerate(keys)
    ]
    for path, reload in ((client_ca, reload_client_ca), (proxy_ca, reload_proxy_ca)):
        if path is not None:
            watched.append(WatchedFiles([path], partial(reload, path)))
    return watched


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _client_key(path: Path) -> str:
    """Return a key in base64, in the form that all clients read: former releases wrote another one."""
    key = path.read_text()
    if _PKCS8 in key:
        from apiext.base.cert.issuing import as_ec_key

        key = as_ec_key(key)
    return base64.b64encode(key.encode()).decode()
