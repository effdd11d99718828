"""The server's own keys and certificates in `--cert-dir`: made once, used again, renewed before they end.

apiext-ca.crt, apiext-ca.key         the authority of the two others
apiserver.crt, apiserver.key         what the server shows
apiext-admin.crt, apiext-admin.key   a client of group system:masters
"""

from __future__ import annotations

import datetime
import fcntl
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.meta.user import MASTERS
from apiext.server.files import read_file, write_file
from apiext.server.tls import certificate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from apiext.server.tls.issuing import Pem

_RENEW_BEFORE: Final = datetime.timedelta(days=30)
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

    def ends_within(self, time: datetime.timedelta) -> bool:
        """Whether the certificate is missing, cannot be read, or ends soon."""
        end = certificate.end_of_validity(read_file(self.cert)) if self.key.exists() else None
        return end is None or end - datetime.datetime.now(datetime.UTC) < time

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


def ensure_pki(folder: Path, hosts: Sequence[str]) -> Pki:
    """Make what is missing or ends soon, and what names other hosts; servers that start at once share the result.

    Raises:
        OSError: the folder cannot be used.
    """
    pki = Pki(*(KeyPair.named(folder, name) for name in ("apiext-ca", "apiserver", "apiext-admin")))
    if _is_complete(pki, hosts):
        return pki
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(folder):
        _complete(pki, hosts)
    return pki


def _is_complete(pki: Pki, hosts: Sequence[str]) -> bool:
    return not (
        pki.authority.ends_within(_RENEW_AUTHORITY_BEFORE)
        or pki.serving.ends_within(_RENEW_BEFORE)
        or pki.admin.ends_within(_RENEW_BEFORE)
        or not certificate.covers(read_file(pki.serving.cert), hosts)
    )


def _complete(pki: Pki, hosts: Sequence[str]) -> None:
    # loaded only when there is something to make: it takes a tenth of a second
    from apiext.server.tls import issuing

    anew = pki.authority.ends_within(_RENEW_AUTHORITY_BEFORE)
    if anew:
        pki.authority.write(issuing.new_authority("apiext-ca"))
    authority = issuing.Pem(read_file(pki.authority.cert), read_file(pki.authority.key))

    def issue(pair: KeyPair, make: Callable[[], Pem], *, unfit: bool = False) -> None:
        if anew or unfit or pair.ends_within(_RENEW_BEFORE):
            pair.write(make())

    unfit = not certificate.covers(read_file(pki.serving.cert), hosts)
    issue(pki.serving, lambda: issuing.issue_serving(authority, hosts), unfit=unfit)
    issue(pki.admin, lambda: issuing.issue_client(authority, "apiext-admin", [MASTERS]))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
