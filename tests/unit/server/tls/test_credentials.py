"""What lets clients in is kept up while the server runs."""

import base64
import time
from pathlib import Path

import pytest
import yaml

from apiext.server.options import Options, ServingOptions, StorageOptions
from apiext.server.tls.credentials import Credentials, load_credentials
from apiext.server.tls.server_pki import KeyPair

URL = "https://127.0.0.1:6443"


@pytest.fixture
def options(tmp_path: Path) -> Options:
    """A server that has all certificates of its own."""
    return Options(serving=ServingOptions(cert_dir=tmp_path / "pki"), storage=StorageOptions(data_dir=tmp_path))


@pytest.fixture
def credentials(options: Options) -> Credentials:
    """Those of a server that has started."""
    loaded = load_credentials(options)
    loaded.write_kubeconfig(URL)
    return loaded


def _kubeconfig(options: Options) -> tuple[str, bytes, bytes]:
    config = yaml.safe_load((options.serving.cert_dir / "apiext.kubeconfig").read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    trust, cert = (base64.b64decode(text) for text in (cluster["certificate-authority-data"], user["client-certificate-data"]))
    return cluster["server"], trust, cert


async def test_all_is_renewed(options: Options, credentials: Credentials) -> None:
    """When own certificates are made anew the server shows and believes them, and the kubeconfig has them."""
    before = credentials.entrance.keys[0], credentials.entrance.identification, _kubeconfig(options)
    folder = options.serving.cert_dir
    (folder / "apiext-ca.key").unlink()

    await credentials.upkeep(options, URL).look()

    authority, admin = (KeyPair.named(folder, name).cert.read_bytes() for name in ("apiext-ca", "apiext-admin"))
    assert credentials.entrance.keys[0].cert == (folder / "apiserver.crt").read_bytes() != before[0].cert
    assert credentials.entrance.identification.clients.pem == authority != before[1].clients.pem
    assert _kubeconfig(options) == (URL, authority, admin) != before[2]


def test_when_they_end(credentials: Credentials) -> None:
    """It is told of the certificate that is shown, and of the authority."""
    ends = credentials.ends()

    assert set(ends) == {"serving", "ca"}
    assert time.time() + 364 * 86400 < ends["serving"] < ends["ca"]


def test_kubeconfig_of_another_server(options: Options, credentials: Credentials) -> None:
    """A server that shares the folder, and started later, keeps the kubeconfig."""
    other = load_credentials(options)
    other.write_kubeconfig("https://127.0.0.1:6444")
    (options.serving.cert_dir / "apiext-admin.key").unlink()

    credentials.renew(options, URL)
    stale = _kubeconfig(options)
    other.renew(options, "https://127.0.0.1:6444")

    admin = (options.serving.cert_dir / "apiext-admin.crt").read_bytes()
    assert stale[0] == _kubeconfig(options)[0] == "https://127.0.0.1:6444"
    assert stale[2] != _kubeconfig(options)[2] == admin
