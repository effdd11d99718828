"""TLS contexts for etcd."""

from pathlib import Path

import pytest

from apiext.storage.etcd.config import EtcdConfig, EtcdConfigError
from apiext.storage.etcd.tls import TlsContextLoader
from hack.lib.servers.certificates import Authority


def test_keeps_the_context_while_files_are_unusable(tmp_path: Path) -> None:
    """Return the previous context while a file is half-written, mismatched or missing, and a new one afterwards."""
    authority = Authority(tmp_path)
    pair, other = authority.issue("client"), authority.issue("other")
    whole = pair.key.read_bytes()
    loader = TlsContextLoader(EtcdConfig(servers=(), cafile=authority.cert, certfile=pair.cert, keyfile=pair.key))
    before = loader.load()

    for content in (whole[:50], b"", other.key.read_bytes()):
        pair.key.write_bytes(content)
        assert loader.load() is before
    pair.key.unlink()
    assert loader.load() is before
    pair.key.write_bytes(whole)
    assert loader.load() is not before


def test_rejects_unusable_files_at_start(tmp_path: Path) -> None:
    """Raise an error of one line when a file cannot be used at start."""
    (tmp_path / "ca.pem").write_text("no certificate")

    with pytest.raises(EtcdConfigError, match="the certificates for etcd cannot be used"):
        TlsContextLoader(EtcdConfig(servers=(), cafile=tmp_path / "ca.pem"))
