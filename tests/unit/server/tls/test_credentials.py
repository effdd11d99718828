"""Renewal of the server's own credentials."""

import base64
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives import serialization

from apiext.server.options.options import ServerOptions, ServingOptions, StorageOptions
from apiext.server.tls.credentials import ServerCredentials, load_credentials
from apiext.server.tls.server_pki import KeyPair

URL = "https://127.0.0.1:6443"


@pytest.fixture
def options(tmp_path: Path) -> ServerOptions:
    """Return options of a server with only own certificates."""
    return ServerOptions(serving=ServingOptions(cert_dir=tmp_path / "pki"), storage=StorageOptions(data_dir=tmp_path))


@pytest.fixture
def credentials(options: ServerOptions) -> ServerCredentials:
    """Return the credentials of a started server."""
    loaded = load_credentials(options)
    loaded.write_kubeconfig(URL)
    return loaded


def _kubeconfig(options: ServerOptions) -> tuple[str, bytes, bytes]:
    config = yaml.safe_load((options.serving.cert_dir / "apiext.kubeconfig").read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    trust, cert = (base64.b64decode(text) for text in (cluster["certificate-authority-data"], user["client-certificate-data"]))
    return cluster["server"], trust, cert


def test_writes_the_kubeconfig(credentials: ServerCredentials) -> None:
    """Embed all certificates, restrict the file to the user, and write it only if it changes."""
    path = credentials.kubeconfig
    assert path is not None
    first = path.stat()
    credentials.write_kubeconfig(URL)
    assert path.stat().st_mtime_ns == first.st_mtime_ns
    replace(credentials, trust=None).write_kubeconfig("https://a:2")

    cluster = yaml.safe_load(path.read_text())["clusters"][0]["cluster"]
    assert cluster == {"server": "https://a:2"}
    assert stat.S_IMODE(first.st_mode) == 0o600


def test_writes_keys_that_all_clients_read(options: ServerOptions, credentials: ServerCredentials) -> None:
    """Write EC keys in SEC1 to the files and the kubeconfig; convert the key of a former release for the kubeconfig."""
    folder = options.serving.cert_dir
    names = ("apiext-ca", "apiserver", "apiext-admin")
    assert [(folder / f"{name}.key").read_text().splitlines()[0] for name in names] == ["-----BEGIN EC PRIVATE KEY-----"] * 3
    path = folder / "apiext-admin.key"
    first = path.read_text()
    key = serialization.load_pem_private_key(first.encode(), None)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path.write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))

    credentials.write_kubeconfig(URL)

    config = yaml.safe_load((folder / "apiext.kubeconfig").read_text())
    assert base64.b64decode(config["users"][0]["user"]["client-key-data"]).decode() == first
    assert KeyPair(folder / "apiext-admin.crt", path).is_valid()


async def test_renews_everything(options: ServerOptions, credentials: ServerCredentials) -> None:
    """Use renewed certificates and authorities, and write them to the kubeconfig."""
    before = credentials.dynamic_tls.keys[0], credentials.dynamic_tls.identification, _kubeconfig(options)
    folder = options.serving.cert_dir
    (folder / "apiext-ca.key").unlink()

    await credentials.rotation(options, URL).check()

    authority, admin = (KeyPair.named(folder, name).cert.read_bytes() for name in ("apiext-ca", "apiext-admin"))
    assert credentials.dynamic_tls.keys[0].cert == (folder / "apiserver.crt").read_bytes() != before[0].cert
    assert credentials.dynamic_tls.identification.clients.pem == authority != before[1].clients.pem
    assert _kubeconfig(options) == (URL, authority, admin) != before[2]


def test_reports_expirations(credentials: ServerCredentials) -> None:
    """Report the expirations of the serving certificate and of the CA."""
    ends = credentials.expirations()

    assert set(ends) == {"serving", "ca"}
    assert time.time() + 364 * 86400 < ends["serving"] < ends["ca"]


def test_keeps_the_kubeconfig_of_another_server(options: ServerOptions, credentials: ServerCredentials) -> None:
    """Keep the kubeconfig of a server that shares the directory and started later."""
    other = load_credentials(options)
    other.write_kubeconfig("https://127.0.0.1:6444")
    (options.serving.cert_dir / "apiext-admin.key").unlink()

    credentials.renew(options, URL)
    stale = _kubeconfig(options)
    other.renew(options, "https://127.0.0.1:6444")

    admin = (options.serving.cert_dir / "apiext-admin.crt").read_bytes()
    assert stale[0] == _kubeconfig(options)[0] == "https://127.0.0.1:6444"
    assert stale[2] != _kubeconfig(options)[2] == admin
