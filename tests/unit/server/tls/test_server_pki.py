"""The record of the last check of the server's own certificates."""

import datetime
from pathlib import Path

import pytest
from cryptography import x509

from apiext.server.tls.server_pki import ensure_pki

START = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)
HOSTS = ["127.0.0.1", "localhost"]


@pytest.fixture
def reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Create certificates, and return the list of certificates that are read from now on."""
    ensure_pki(tmp_path, HOSTS, START)
    found: list[bytes] = []
    load = x509.load_pem_x509_certificate

    def recording(pem: bytes) -> object:
        found.append(pem)
        return load(pem)

    monkeypatch.setattr(x509, "load_pem_x509_certificate", recording)
    return found


@pytest.mark.parametrize("hosts", [HOSTS, HOSTS[:1]])
def test_reads_nothing_after_a_check(tmp_path: Path, reads: list[bytes], hosts: list[str]) -> None:
    """Read no certificate within a day after a check for the same hosts."""
    ensure_pki(tmp_path, hosts, START + 23 * HOUR)

    assert reads == []


@pytest.mark.parametrize("change", ["hosts", "file", "day", "clock", "record"])
def test_reads_after_a_change(tmp_path: Path, reads: list[bytes], change: str) -> None:
    """Read the certificates for a new host, after a change of a file or the record, a day later, and with a clock set back."""
    moment = START + {"day": 24, "clock": -1}.get(change, 1) * HOUR
    if change == "file":
        (tmp_path / "apiserver.crt").write_text((tmp_path / "apiserver.crt").read_text() + "\n")
    if change == "record":
        (tmp_path / ".checked").write_text("{}")
    ensure_pki(tmp_path, [*HOSTS, *(["new"] if change == "hosts" else [])], moment)

    assert reads != []
    reads.clear()
    ensure_pki(tmp_path, HOSTS, moment)
    assert reads == []
