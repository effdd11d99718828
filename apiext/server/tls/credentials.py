"""All that lets clients in and lets them trust the server, made from the options."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from apiext.authentication import token_file
from apiext.authentication.client_certificate import Authorities, PeerIdentification
from apiext.cert import certificate
from apiext.server.admin_kubeconfig import names_server, write_kubeconfig
from apiext.server.atomic_files import read_file
from apiext.server.start_error import StartError
from apiext.server.tls.certificate_rotation import Upkeep
from apiext.server.tls.context import TLSError, read_authorities
from apiext.server.tls.credential_files import CredentialFiles
from apiext.server.tls.dynamic_tls import Entrance
from apiext.server.tls.server_pki import KeyPair, Pki, ensure_pki

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from apiext.meta.request import UserInfo
    from apiext.server.options import Options

_ANY: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 -- compared with, not bound
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Credentials:
    """What the server shows, and what it knows its clients by."""

    entrance: Entrance
    tokens: Mapping[str, UserInfo]
    pki: Pki | None
    """The server's own certificates, None where the options name others for everything."""
    kubeconfig: Path | None
    """Where the kubeconfig of the server's own admin goes, None where the server has no own clients."""
    trust: Path | None
    """The authority by which clients know the server, None where it is not the server's own."""
    files: CredentialFiles
    """What the entrance was made from."""

    def write_kubeconfig(self, url: str) -> None:
        """Write the admin's kubeconfig, where there is one. Raises StartError."""
        if self.kubeconfig is None or self.pki is None:
            return
        try:
            write_kubeconfig(self.kubeconfig, url=url, authority=self.trust, admin=self.pki.admin)
        except OSError as error:
            raise StartError(f"the kubeconfig cannot be written: {self.kubeconfig}: {error.strerror}") from error

    def ends(self) -> dict[str, float]:
        """When the certificates that are shown and the server's own authority end, in seconds since the epoch."""
        shown = [certificate.end_of_validity(keys.cert.decode("ascii", "replace")) for keys in self.entrance.keys]
        found = {f"sni-{place}" if place else "serving": end for place, end in enumerate(shown)}
        if self.pki is not None:
            found["ca"] = certificate.end_of_validity(read_file(self.pki.authority.cert))
        return {name: moment.timestamp() for name, moment in found.items() if moment is not None}

    def upkeep(self, options: Options, url: str) -> Upkeep:
        """What keeps all of it up to date. `url` is the server's own."""
        return Upkeep(self.files.followed_by(self.entrance), partial(self.renew, options, url))

    def renew(self, options: Options, url: str) -> None:
        """Renew what is due of the server's own certificates, and the kubeconfig if it is still this server's. Raises StartError."""
        if self.pki is None:
            return
        _own_pki(options)
        try:
            is_ours = self.kubeconfig is not None and names_server(self.kubeconfig, url)
        except (OSError, ValueError) as error:
            raise StartError(f"the kubeconfig cannot be read: {error}") from error
        if is_ours:
            self.write_kubeconfig(url)


def load_credentials(options: Options) -> Credentials:
    """Read what the options name, and make what they leave to the server.

    Raises:
        StartError: a file cannot be used.
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
            # none until the cluster has been asked
            clients=Authorities(read_authorities(client_ca) if client_ca else b""),
            proxies=Authorities(read_authorities(proxy_ca)) if proxy_ca else None,
            proxy_names=frozenset(authentication.front_proxy_names),
        )
        named = [(KeyPair(one.cert_file, one.key_file), one.names) for one in serving.named]
        files = CredentialFiles([(pair, ()), *named], client_ca, proxy_ca)
        entrance = Entrance(files.read(), identification, min_version=serving.min_tls_version, address=serving.bind_address)
        tokens = token_file.load(authentication.token_file) if authentication.token_file else {}
    except (TLSError, token_file.TokenFileError) as error:
        raise StartError(str(error)) from error
    return Credentials(
        entrance=entrance,
        tokens=tokens,
        pki=pki,
        kubeconfig=serving.cert_dir / "apiext.kubeconfig" if own_clients else None,
        trust=pki.authority.cert if own_serving and pki else None,
        files=files,
    )


def _own_pki(options: Options) -> Pki:
    serving = options.serving
    hosts = [*_LOOPBACK, serving.bind_address, socket.gethostname()]
    hosts = [host for host in dict.fromkeys(hosts) if host and host not in _ANY and len(host) < 128]
    try:
        return ensure_pki(serving.cert_dir, hosts)
    except (OSError, ValueError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StartError(f"certificates cannot be kept in {serving.cert_dir}: {reason}") from error


def _given(path: Path | None) -> Path:
    if path is None:
        raise StartError("a certificate is missing")
    return path
