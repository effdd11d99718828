"""Loads the server's certificates, client CAs and static tokens from the options, and writes the kubeconfig of its admin user."""

from __future__ import annotations

import base64
import socket
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from apiext.authentication.bearer_token import TokenFileError, load_token_file
from apiext.authentication.client_certificate import CertificateAuthorities, PeerIdentification
from apiext.cert import certificate
from apiext.server.atomic_files import read_file, write_file
from apiext.server.start_error import StartError
from apiext.server.tls.certificate_rotation import CertificateRotation, WatchedFiles
from apiext.server.tls.context import CertKey, TLSError, read_authorities
from apiext.server.tls.dynamic_tls import DynamicTLS
from apiext.server.tls.server_pki import KeyPair, Pki, ensure_pki

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from apiext.meta.request import UserInfo
    from apiext.server.options import ServerOptions

_ANY: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 -- compared, not bound
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
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
class CredentialFiles:
    """The files of serving certificates and client CAs; None for a CA that is not in a file."""

    keys: Sequence[tuple[KeyPair, tuple[str, ...]]]
    """Certificates with the server names that they serve; the first is the default."""
    client_ca: Path | None
    proxy_ca: Path | None

    def read(self) -> list[CertKey]:
        """Read all certificates and keys.

        Raises:
            TLSError: a file cannot be read.
        """
        return [CertKey.read(pair, names) for pair, names in self.keys]

    def watched_by(self, dynamic_tls: DynamicTLS) -> list[WatchedFiles]:
        """Return the files with functions that reload them into `dynamic_tls`."""
        watched = [
            WatchedFiles([pair.cert, pair.key], partial(_reload_certificate, dynamic_tls, pair, names, place))
            for place, (pair, names) in enumerate(self.keys)
        ]
        if self.client_ca is not None:
            watched.append(WatchedFiles([self.client_ca], partial(_reload_client_ca, dynamic_tls, self.client_ca)))
        if self.proxy_ca is not None:
            watched.append(WatchedFiles([self.proxy_ca], partial(_reload_proxy_ca, dynamic_tls, self.proxy_ca)))
        return watched


def _reload_certificate(dynamic_tls: DynamicTLS, pair: KeyPair, names: tuple[str, ...], place: int) -> bool:
    return dynamic_tls.set_certificate(CertKey.read(pair, names), place=place)


def _reload_client_ca(dynamic_tls: DynamicTLS, path: Path) -> bool:
    return dynamic_tls.set_client_trust(replace(dynamic_tls.identification, clients=CertificateAuthorities(read_authorities(path))))


def _reload_proxy_ca(dynamic_tls: DynamicTLS, path: Path) -> bool:
    return dynamic_tls.set_client_trust(replace(dynamic_tls.identification, proxies=CertificateAuthorities(read_authorities(path))))


@dataclass(frozen=True, slots=True)
class ServerCredentials:
    """The server's certificates and the means to authenticate its clients."""

    dynamic_tls: DynamicTLS
    tokens: Mapping[str, UserInfo]
    pki: Pki | None
    """The server's own certificates, None if the options replace all of them."""
    kubeconfig: Path | None
    """The path of the admin's kubeconfig, None without an own client CA."""
    trust: Path | None
    """The CA that signed the serving certificate, None unless it is the server's own."""
    files: CredentialFiles
    """The files behind `dynamic_tls`."""

    def write_kubeconfig(self, url: str) -> None:
        """Write the admin's kubeconfig, if there is an admin.

        Raises:
            StartError: the file cannot be written.
        """
        if self.kubeconfig is None or self.pki is None:
            return
        try:
            write_kubeconfig(self.kubeconfig, url=url, authority=self.trust, admin=self.pki.admin)
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
        """Return the rotation of the files and of the own certificates. `url` is the server's own."""
        return CertificateRotation(self.files.watched_by(self.dynamic_tls), partial(self.renew, options, url))

    def renew(self, options: ServerOptions, url: str) -> None:
        """Renew the own certificates that expire soon, and the kubeconfig if it refers to this server.

        Raises:
            StartError: a file cannot be read or written.
        """
        if self.pki is None:
            return
        _own_pki(options)
        try:
            is_ours = self.kubeconfig is not None and points_to(self.kubeconfig, url)
        except (OSError, ValueError) as error:
            raise StartError(f"cannot read the kubeconfig: {error}") from error
        if is_ours:
            self.write_kubeconfig(url)


def load_credentials(options: ServerOptions) -> ServerCredentials:
    """Load the files of the options, and create the certificates that they omit.

    Raises:
        StartError: a file cannot be read or written, or is invalid.
    """
    serving, authentication = options.serving, options.authentication
    own_serving = serving.cert_file is None or serving.key_file is None
    own_clients = authentication.client_ca_file is None and not authentication.looks_up
    pki = _own_pki(options) if own_serving or own_clients else None
    pair = pki.serving if own_serving and pki else KeyPair(_given(serving.cert_file), _given(serving.key_file))
    client_ca = pki.authority.cert if own_clients and pki else authentication.client_ca_file
    proxy_ca = authentication.front_proxy_ca_file
    try:
        identification = PeerIdentification(
            # empty until the ConfigMap of the cluster is read
            clients=CertificateAuthorities(read_authorities(client_ca) if client_ca else b""),
            proxies=CertificateAuthorities(read_authorities(proxy_ca)) if proxy_ca else None,
            proxy_names=frozenset(authentication.front_proxy_names),
        )
        named = [(KeyPair(one.cert_file, one.key_file), one.names) for one in serving.named]
        files = CredentialFiles([(pair, ()), *named], client_ca, proxy_ca)
        dynamic_tls = DynamicTLS(files.read(), identification, min_version=serving.min_tls_version, address=serving.bind_address)
        tokens = load_token_file(authentication.token_file) if authentication.token_file else {}
    except (TLSError, TokenFileError) as error:
        raise StartError(str(error)) from error
    return ServerCredentials(
        dynamic_tls=dynamic_tls,
        tokens=tokens,
        pki=pki,
        kubeconfig=serving.cert_dir / "apiext.kubeconfig" if own_clients else None,
        trust=pki.authority.cert if own_serving and pki else None,
        files=files,
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


def _given(path: Path | None) -> Path:
    if path is None:
        raise StartError("a certificate is missing")
    return path


def write_kubeconfig(path: Path, *, url: str, authority: Path | None, admin: KeyPair) -> None:
    """Write the admin's kubeconfig with embedded certificates, unless the file already has this content.

    Without an authority clients verify the server with the system's authorities.

    Raises:
        OSError: the file cannot be read or written.
    """
    trust = f"    certificate-authority-data: {_base64(authority)}\n" if authority else ""
    text = _KUBECONFIG.format(url=url, authority=trust, cert=_base64(admin.cert), key=_base64(admin.key))
    if read_file(path) != text:
        write_file(path, text, mode=0o600)


def points_to(path: Path, url: str) -> bool:
    """Return whether a kubeconfig of `write_kubeconfig` refers to a server.

    Raises:
        OSError: the file cannot be read.
    """
    return f"    server: {url}\n" in read_file(path)


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
