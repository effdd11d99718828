"""The files that the server's certificates and its clients' authorities are read from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from apiext.authentication.client_certificate import Authorities
from apiext.server.tls.certificate_rotation import Followed
from apiext.server.tls.context import Keys, read_authorities

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from apiext.server.tls.dynamic_tls import Entrance
    from apiext.server.tls.server_pki import KeyPair


@dataclass(frozen=True, slots=True)
class CredentialFiles:
    """Where they are; None for authorities that are no file's matter."""

    keys: Sequence[tuple[KeyPair, tuple[str, ...]]]
    """With the names that they are for; the first is the default."""
    client_ca: Path | None
    proxy_ca: Path | None

    def read(self) -> list[Keys]:
        """All certificates to show. Raises TLSError."""
        return [Keys.read(pair, names) for pair, names in self.keys]

    def followed_by(self, entrance: Entrance) -> list[Followed]:
        """What has an entrance follow the files, one by one."""
        followed = [
            Followed([pair.cert, pair.key], partial(_show, entrance, pair, names, place)) for place, (pair, names) in enumerate(self.keys)
        ]
        if self.client_ca is not None:
            followed.append(Followed([self.client_ca], partial(_believe_clients, entrance, self.client_ca)))
        if self.proxy_ca is not None:
            followed.append(Followed([self.proxy_ca], partial(_believe_proxies, entrance, self.proxy_ca)))
        return followed


def _show(entrance: Entrance, pair: KeyPair, names: tuple[str, ...], place: int) -> bool:
    return entrance.show(Keys.read(pair, names), place=place)


def _believe_clients(entrance: Entrance, path: Path) -> bool:
    return entrance.believe(replace(entrance.identification, clients=Authorities(read_authorities(path))))


def _believe_proxies(entrance: Entrance, path: Path) -> bool:
    return entrance.believe(replace(entrance.identification, proxies=Authorities(read_authorities(path))))
