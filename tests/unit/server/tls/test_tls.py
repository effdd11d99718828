"""The server's own keys and certificates."""

import os
import ssl
import stat
from pathlib import Path

import pytest
from cryptography import x509

from apiext.cert.certificate import covers, end_of_validity
from apiext.server.admin_kubeconfig import write_kubeconfig
from apiext.server.tls import server_pki
from apiext.server.tls.context import Keys, TLSError, read_authorities, server_context
from apiext.server.tls.server_pki import KeyPair, ensure_pki
from hack.lib.servers.certificates import Authority

HOSTS = ["127.0.0.1", "::1", "localhost"]


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix}


def _certificate(pair: KeyPair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.cert.read_bytes())


def test_made_once(tmp_path: Path) -> None:
    """The first start makes everything, the next one finds it good; keys are the user's alone."""
    folder = tmp_path / "pki"
    ensure_pki(folder, HOSTS)
    before = _files(folder)

    ensure_pki(folder, HOSTS)

    assert _files(folder) == before
    assert set(before) == {f"{name}.{end}" for name in ("apiext-ca", "apiserver", "apiext-admin") for end in ("crt", "key")}
    modes = {path.suffix: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if path.suffix}
    assert modes == {".crt": 0o644, ".key": 0o600}


def test_what_is_in_them(tmp_path: Path) -> None:
    """The serving certificate names the hosts, the admin's the group of masters; both are the authority's."""
    made = ensure_pki(tmp_path, HOSTS)

    names = _certificate(made.serving).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == HOSTS
    subject = {attribute.rfc4514_attribute_name: attribute.value for attribute in _certificate(made.admin).subject}
    assert subject == {"O": "system:masters", "CN": "apiext-admin"}
    for pair in (made.serving, made.admin):
        _certificate(pair).verify_directly_issued_by(_certificate(made.authority))


def test_other_hosts(tmp_path: Path) -> None:
    """With other hosts the server gets a new certificate; the admin keeps the old one."""
    made = ensure_pki(tmp_path, HOSTS)
    before = _files(tmp_path)

    ensure_pki(tmp_path, [*HOSTS, "10.0.0.1"])

    changed = {name for name, data in _files(tmp_path).items() if data != before[name]}
    assert changed == {"apiserver.crt", "apiserver.key"}
    assert covers(made.serving.cert.read_text(), ["10.0.0.1"])


@pytest.mark.parametrize("name", ["apiserver.crt", "apiserver.key", "apiext-admin.crt", "apiext-ca.crt"])
def test_what_is_lost_or_broken_is_made_anew(tmp_path: Path, name: str) -> None:
    """A missing or damaged file does not stop the next start."""
    made = ensure_pki(tmp_path, HOSTS)
    (tmp_path / name).write_text("") if name.endswith(".crt") else (tmp_path / name).unlink()

    ensure_pki(tmp_path, HOSTS)

    server_context(Keys.read(made.serving), authorities=made.authority.cert.read_bytes(), min_version="VersionTLS12")
    _certificate(made.admin).verify_directly_issued_by(_certificate(made.authority))


def test_no_half_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a file cannot be put in its place nothing of it stays."""

    def fail(*_args: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", fail)

    with pytest.raises(PermissionError):
        ensure_pki(tmp_path, HOSTS)

    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_validity_without_a_library(tmp_path: Path) -> None:
    """The end of a certificate is found as the library finds it; what is no certificate has none."""
    made = ensure_pki(tmp_path, HOSTS)

    for pair in (made.authority, made.serving, made.admin):
        assert end_of_validity(pair.cert.read_text()) == _certificate(pair).not_valid_after_utc
    assert end_of_validity("nothing") is None
    assert end_of_validity("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----") is None


def test_context(tmp_path: Path) -> None:
    """Clients may show a certificate, TLS is 1.2 at least, HTTP/1.1 is spoken."""
    made = ensure_pki(tmp_path, HOSTS)

    context = server_context(Keys.read(made.serving), authorities=made.authority.cert.read_bytes(), min_version="VersionTLS13")

    assert (context.verify_mode, context.minimum_version) == (ssl.CERT_OPTIONAL, ssl.TLSVersion.TLSv1_3)


def test_unusable_files(tmp_path: Path) -> None:
    """A key that is not the certificate's, and an authority that is none, are told by name."""
    one, other = Authority(tmp_path / "one").issue("a"), Authority(tmp_path / "other").issue("b")
    broken = tmp_path / "broken"
    broken.write_text("x")

    with pytest.raises(TLSError, match="are no certificate and its key"):
        server_context(Keys.read(KeyPair(one.cert, other.key)), authorities=b"", min_version="VersionTLS12")
    with pytest.raises(TLSError, match=f"{broken} holds no certificates"):
        read_authorities(broken)


def test_kubeconfig(tmp_path: Path) -> None:
    """It holds everything, is the user's alone, and is written only when it changes."""
    import yaml

    made = ensure_pki(tmp_path, HOSTS)
    path = tmp_path / "config"

    write_kubeconfig(path, url="https://a:1", authority=made.authority.cert, admin=made.admin)
    first = path.stat()
    write_kubeconfig(path, url="https://a:1", authority=made.authority.cert, admin=made.admin)
    assert path.stat().st_mtime_ns == first.st_mtime_ns
    write_kubeconfig(path, url="https://a:2", authority=None, admin=made.admin)

    cluster = yaml.safe_load(path.read_text())["clusters"][0]["cluster"]
    assert cluster == {"server": "https://a:2"}
    assert stat.S_IMODE(first.st_mode) == 0o600


def test_module_is_loaded_late() -> None:
    """Whoever finds certificates in place does not load the library for them."""
    assert "cryptography" not in vars(server_pki)
