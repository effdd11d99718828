"""The server's own keys and certificates in `--cert-dir`: made once, used again, renewed before they end.

apiext-ca.crt, apiext-ca.key         the authority of the two others, newest certificate first; older ones while they are valid
apiserver.crt, apiserver.key         what the server shows
apiext-admin.crt, apiext-admin.key   a client of group system:masters
"""

from __future__ import annotations

import datetime
import fcntl
import os
import ssl
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.cert import certificate, renewal
from apiext.meta.user import MASTERS
from apiext.server.atomic_files import read_file, write_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from apiext.cert.issuing import Pem

_MOST_HOSTS: Final = 100
"""Hosts of one certificate, so that it does not grow with each new name of the machine."""
_AUTHORITY: Final = "apiext-ca"
_RENEW_AUTHORITY_BEFORE: Final = datetime.timedelta(days=400)
"""No certificate of an authority outlives it."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its key, as files."""

    cert: Path
    key: Path

    @classmethod
    def named(cls, folder: Path, name: str) -> KeyPair:
        """The pair `<name>.crt`, `<name>.key` of a folder."""
        return cls(folder / f"{name}.crt", folder / f"{name}.key")

    def is_sound(self) -> bool:
        """Whether both are there, and belong together."""
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.cert, self.key, password=b"")
        except (OSError, ValueError):
            return False
        return True

    def write(self, pem: Pem) -> None:
        """Write both files, the key first, so that a certificate is never there without its key."""
        write_file(self.key, pem.key, mode=0o600)
        write_file(self.cert, pem.cert, mode=0o644)


@dataclass(frozen=True, slots=True)
class Pki:
    """The server's own certificates."""

    authority: KeyPair
    serving: KeyPair
    admin: KeyPair


def now() -> datetime.datetime:
    """The moment, as the system's clock has it."""
    return datetime.datetime.now(datetime.UTC)


def ensure_pki(folder: Path, hosts: Sequence[str], moment: datetime.datetime | None = None) -> Pki:
    """Make what is missing or ends soon, and what does not name the hosts; servers with the same folder share the result.

    A serving certificate that is made because hosts are new keeps those that the old one names, which may be another server's.

    Raises:
        OSError: the folder cannot be used.
    """
    moment = moment or now()
    pki = Pki(*(KeyPair.named(folder, name) for name in (_AUTHORITY, "apiserver", "apiext-admin")))
    if _is_complete(pki, hosts, moment):
        return pki
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(folder):
        _complete(pki, hosts, moment)
    return pki


def _is_complete(pki: Pki, hosts: Sequence[str], moment: datetime.datetime) -> bool:
    return not (
        _authority_is_due(pki, moment)
        or len(_valid(pki, moment)) < len(certificate.certificates(read_file(pki.authority.cert)))
        or any(_is_due(pair, pki.authority, moment) for pair in (pki.serving, pki.admin))
        or not certificate.covers(read_file(pki.serving.cert), hosts)
    )


def _authority_is_due(pki: Pki, moment: datetime.datetime) -> bool:
    end = certificate.end_of_validity(read_file(pki.authority.cert)) if pki.authority.is_sound() else None
    return end is None or end - moment < _RENEW_AUTHORITY_BEFORE


def _is_due(pair: KeyPair, authority: KeyPair, moment: datetime.datetime) -> bool:
    return not pair.is_sound() or renewal.is_due(read_file(pair.cert), read_file(authority.cert), moment)


def _valid(pki: Pki, moment: datetime.datetime) -> list[str]:
    """The authority's certificates that have not ended yet."""
    return renewal.still_valid(read_file(pki.authority.cert), moment)


def _complete(pki: Pki, hosts: Sequence[str], moment: datetime.datetime) -> None:
    # loaded only when there is something to make: it takes a tenth of a second
    from apiext.cert import issuing

    _complete_authority(pki, moment)
    authority = issuing.Pem(read_file(pki.authority.cert), read_file(pki.authority.key))
    shown = read_file(pki.serving.cert)
    if _is_due(pki.serving, pki.authority, moment):
        pki.serving.write(issuing.issue_serving(authority, hosts, moment))
    elif not certificate.covers(shown, hosts):
        both = list(dict.fromkeys([*hosts, *issuing.hosts_of(shown)]))
        pki.serving.write(issuing.issue_serving(authority, both[:_MOST_HOSTS], moment))
    if _is_due(pki.admin, pki.authority, moment):
        pki.admin.write(issuing.issue_client(authority, "apiext-admin", [MASTERS], moment))


def _complete_authority(pki: Pki, moment: datetime.datetime) -> None:
    from apiext.cert import issuing

    kept = _valid(pki, moment)
    if _authority_is_due(pki, moment):
        old = issuing.Pem(read_file(pki.authority.cert), read_file(pki.authority.key))
        sound = pki.authority.is_sound()
        new = issuing.renew_authority(_AUTHORITY, old, moment) if sound else issuing.new_authority(_AUTHORITY, moment)
        pki.authority.write(new._replace(cert="".join([new.cert, *kept])))
    elif kept != certificate.certificates(read_file(pki.authority.cert)):
        write_file(pki.authority.cert, "".join(kept), mode=0o644)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
