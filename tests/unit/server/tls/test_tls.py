"""The server's own keys and certificates."""

import os
import ssl
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography import x509

from apiext.base.cert.certificate import covers, end_of_validity
from apiext.server.tls import server_pki
from apiext.server.tls.context import CertKey, TLSError, read_authorities, server_context
from apiext.server.tls.server_pki import KeyPair, ensure_pki
from hack.lib.servers.certificates import Authority

HOSTS = ["127.0.0.1", "::1", "localhost"]


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix}


def _certificate(pair: KeyPair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.cert.read_bytes())


def test_creates_certificates_once(tmp_path: Path) -> None:
    """Create all files at the first start, and reuse them at the next; only the user can read keys."""
    folder = tmp_path / "pki"
    ensure_pki(folder, HOSTS)
    before = _files(folder)

    ensure_pki(folder, HOSTS)

    assert _files(folder) == before
    assert set(before) == {f"{name}.{end}" for name in ("apiext-ca", "apiserver", "apiext-admin") for end in ("crt", "key")}
    modes = {path.suffix: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if path.suffix}
    assert modes == {".crt": 0o644, ".key": 0o600}


def test_names_hosts_and_groups(tmp_path: Path) -> None:
    """Name the hosts in the serving certificate and system:masters in the admin's, both signed by the CA."""
    made = ensure_pki(tmp_path, HOSTS)

    names = _certificate(made.serving).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == HOSTS
    subject = {attribute.rfc4514_attribute_name: attribute.value for attribute in _certificate(made.admin).subject}
    assert subject == {"O": "system:masters", "CN": "apiext-admin"}
    for pair in (made.serving, made.admin):
        _certificate(pair).verify_directly_issued_by(_certificate(made.authority))


def test_adds_hosts(tmp_path: Path) -> None:
    """Replace the serving certificate for other hosts, and keep the admin's."""
    made = ensure_pki(tmp_path, HOSTS)
    before = _files(tmp_path)

    ensure_pki(tmp_path, [*HOSTS, "10.0.0.1"])

    changed = {name for name, data in _files(tmp_path).items() if data != before[name]}
    assert changed == {"apiserver.crt", "apiserver.key"}
    assert covers(made.serving.cert.read_text(), ["10.0.0.1"])


@pytest.mark.parametrize("name", ["apiserver.crt", "apiserver.key", "apiext-admin.crt", "apiext-ca.crt"])
def test_replaces_missing_and_damaged_files(tmp_path: Path, name: str) -> None:
    """Replace a missing or damaged file at the next start."""
    made = ensure_pki(tmp_path, HOSTS)
    (tmp_path / name).write_text("") if name.endswith(".crt") else (tmp_path / name).unlink()

    ensure_pki(tmp_path, HOSTS)

    server_context(CertKey.read(made.serving), authorities=made.authority.cert.read_bytes(), min_version="VersionTLS12")
    _certificate(made.admin).verify_directly_issued_by(_certificate(made.authority))


def test_leaves_no_partial_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no temporary file if a file cannot be replaced."""

    def fail(*_args: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", fail)

    with pytest.raises(PermissionError):
        ensure_pki(tmp_path, HOSTS)

    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_reads_the_expiration(tmp_path: Path) -> None:
    """Return the expiration of a certificate, and None for invalid PEM."""
    made = ensure_pki(tmp_path, HOSTS)

    for pair in (made.authority, made.serving, made.admin):
        assert end_of_validity(pair.cert.read_text()) == _certificate(pair).not_valid_after_utc
    assert end_of_validity("nothing") is None
    assert end_of_validity("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----") is None


def test_configures_the_context(tmp_path: Path) -> None:
    """Accept client certificates, require at least the minimum TLS version, and offer HTTP/1.1."""
    made = ensure_pki(tmp_path, HOSTS)

    context = server_context(CertKey.read(made.serving), authorities=made.authority.cert.read_bytes(), min_version="VersionTLS13")

    assert (context.verify_mode, context.minimum_version) == (ssl.CERT_OPTIONAL, ssl.TLSVersion.TLSv1_3)


def test_names_invalid_files(tmp_path: Path) -> None:
    """Name the files of a mismatched key and of an invalid CA."""
    one, other = Authority(tmp_path / "one").issue("a"), Authority(tmp_path / "other").issue("b")
    broken = tmp_path / "broken"
    broken.write_text("x")

    with pytest.raises(TLSError, match="are not a certificate and its key"):
        server_context(CertKey.read(KeyPair(one.cert, other.key)), authorities=b"", min_version="VersionTLS12")
    with pytest.raises(TLSError, match=f"{broken} holds no certificates"):
        read_authorities(broken)


def test_imports_the_library_lazily() -> None:
    """Import no library to issue certificates if all are present."""
    assert "cryptography" not in vars(server_pki)


@pytest.mark.parametrize("wanted", ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"])
def test_takes_the_cipher_that_the_client_prefers(tmp_path: Path, wanted: str) -> None:
    """Take the first of the client's ciphers, although OpenSSL's own order has AES-256 first."""
    server = server_context(CertKey.read(ensure_pki(tmp_path, HOSTS).serving), authorities=b"", min_version="VersionTLS12")
    client = ssl.create_default_context(cafile=tmp_path / "apiext-ca.crt")
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    client.set_ciphers(f"{wanted}:ECDHE+AESGCM:ECDHE+CHACHA20")

    assert _negotiated(client, server) == wanted


def _negotiated(client: ssl.SSLContext, server: ssl.SSLContext) -> str:
    """Shake hands in memory and return the cipher."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(to_client, to_server, server_hostname="localhost"), server.wrap_bio(to_server, to_client, server_side=True)]
    for _ in range(3):
        for end in ends:
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()
    cipher = ends[0].cipher()
    assert cipher is not None
    return cipher[0]
