"""The server's own keys and certificates in `--cert-dir`: created once, reused, renewed before they expire.

apiext-ca.crt, apiext-ca.key         the CA of the two others; newest certificate first, then the older valid ones
apiserver.crt, apiserver.key         the serving certificate
apiext-admin.crt, apiext-admin.key   a client certificate of group system:masters
.checked                             the record of the last successful check

A start within a day after a check, with the same files and hosts, does not read the certificates. Reading takes 60 ms, most of it for the
import of cryptography.
"""

from __future__ import annotations

import datetime
import hashlib
import ssl
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import orjson

from apiext.base.atomic_files import folder_locked, make_private, read_file, write_file
from apiext.base.cert import certificate, renewal
from apiext.base.meta.request import MASTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from apiext.base.cert.issuing import Pem

_MAX_HOSTS: Final = 100
"""Maximum of hosts in a certificate, which otherwise grows when the machine's name changes."""
_AUTHORITY: Final = "apiext-ca"
_RENEW_AUTHORITY_BEFORE: Final = datetime.timedelta(days=400)
"""Longer than the validity of issued certificates, so that none outlives its CA."""
_CHECK_FILE: Final = ".checked"
_CHECK_VALIDITY: Final = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """The files of a certificate and its key."""

    cert: Path
    key: Path

    @classmethod
    def named(cls, folder: Path, name: str) -> KeyPair:
        """Return the pair `<name>.crt`, `<name>.key` of a folder."""
        return cls(folder / f"{name}.crt", folder / f"{name}.key")

    def is_valid(self) -> bool:
        """Return whether both files exist and match."""
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.cert, self.key, password=b"")
        except (OSError, ValueError):
            return False
        return True

    def write(self, pem: Pem) -> None:
        """Write both files, the key first, so that a certificate never exists without its key.

        Raises:
            OSError: a file cannot be written.
        """
        write_file(self.key, pem.key, mode=0o600)
        write_file(self.cert, pem.cert, mode=0o644)


@dataclass(frozen=True, slots=True)
class Pki:
    """The server's own certificates."""

    authority: KeyPair
    serving: KeyPair
    admin: KeyPair

    @property
    def files(self) -> list[Path]:
        """The files of all certificates and keys."""
        return [path for pair in (self.authority, self.serving, self.admin) for path in (pair.cert, pair.key)]


def ensure_pki(folder: Path, hosts: Sequence[str], moment: datetime.datetime | None = None) -> Pki:
    """Create certificates that are missing, expire soon or lack a host. Servers with the same folder share them.

    A new serving certificate keeps the hosts of the old one, which may belong to another server.

    Raises:
        OSError: the folder cannot be read or written, or others may write to it.
    """
    moment = moment or datetime.datetime.now(datetime.UTC)
    pki = Pki(*(KeyPair.named(folder, name) for name in (_AUTHORITY, "apiserver", "apiext-admin")))
    make_private(folder)
    if _was_checked(folder, pki.files, hosts, moment):
        return pki
    if not _is_complete(pki, hosts, moment):
        with folder_locked(folder):
            _complete(pki, hosts, moment)
    _record_check(folder, pki.files, hosts, moment)
    return pki


def _is_complete(pki: Pki, hosts: Sequence[str], moment: datetime.datetime) -> bool:
    authorities = read_file(pki.authority.cert)
    return not (
        _authority_is_due(pki, moment)
        or renewal.still_valid(authorities, moment) != certificate.certificates(authorities)
        or any(_is_due(pair, pki.authority, moment) for pair in (pki.serving, pki.admin))
        or not certificate.covers(read_file(pki.serving.cert), hosts)
    )


def _authority_is_due(pki: Pki, moment: datetime.datetime) -> bool:
    end = certificate.end_of_validity(read_file(pki.authority.cert)) if pki.authority.is_valid() else None
    return end is None or end - moment < _RENEW_AUTHORITY_BEFORE


def _is_due(pair: KeyPair, authority: KeyPair, moment: datetime.datetime) -> bool:
    return not pair.is_valid() or renewal.is_due(read_file(pair.cert), read_file(authority.cert), moment)


def _complete(pki: Pki, hosts: Sequence[str], moment: datetime.datetime) -> None:
    # imports in 0.1 s
    from apiext.base.cert import issuing

    _complete_authority(pki, moment)
    authority = issuing.Pem(read_file(pki.authority.cert), read_file(pki.authority.key))
    shown = read_file(pki.serving.cert)
    if _is_due(pki.serving, pki.authority, moment):
        pki.serving.write(issuing.issue_serving(authority, hosts, moment))
    elif not certificate.covers(shown, hosts):
        both = list(dict.fromkeys([*hosts, *certificate.hosts_of(shown)]))
        pki.serving.write(issuing.issue_serving(authority, both[:_MAX_HOSTS], moment))
    if _is_due(pki.admin, pki.authority, moment):
        pki.admin.write(issuing.issue_client(authority, "apiext-admin", [MASTERS], moment))


def _complete_authority(pki: Pki, moment: datetime.datetime) -> None:
    from apiext.base.cert import issuing

    authorities = read_file(pki.authority.cert)
    kept = renewal.still_valid(authorities, moment)
    if _authority_is_due(pki, moment):
        old = issuing.Pem(authorities, read_file(pki.authority.key))
        sound = pki.authority.is_valid()
        new = issuing.renew_authority(_AUTHORITY, old, moment) if sound else issuing.new_authority(_AUTHORITY, moment)
        pki.authority.write(new._replace(cert="".join([new.cert, *kept])))
    elif kept != certificate.certificates(authorities):
        write_file(pki.authority.cert, "".join(kept), mode=0o644)


def _was_checked(folder: Path, files: Iterable[Path], hosts: Sequence[str], moment: datetime.datetime) -> bool:
    """Return whether these files passed a check for these hosts in the last day. Raises OSError."""
    try:
        record = orjson.loads(read_file(folder / _CHECK_FILE))
        checked = datetime.datetime.fromisoformat(record["time"])
        recent = checked <= moment < checked + _CHECK_VALIDITY
        return recent and set(hosts) <= set(record["hosts"]) and record["digest"] == _digest(files)
    except (ValueError, KeyError, TypeError):
        return False


def _record_check(folder: Path, files: Iterable[Path], hosts: Sequence[str], moment: datetime.datetime) -> None:
    """Record that these files passed a check for these hosts, if the folder is writable. Raises OSError."""
    record = {"time": moment.isoformat(), "hosts": list(hosts), "digest": _digest(files)}
    with suppress(OSError):
        write_file(folder / _CHECK_FILE, orjson.dumps(record).decode(), mode=0o600)


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        content = read_file(path).encode()
        digest.update(b"%d\n%b" % (len(content), content))
    return digest.hexdigest()
