"""The service account of a pod."""

from pathlib import Path

import pytest
from yarl import URL

from apiext.base.webhook.clientcmd.kubeconfig import KubeconfigError
from apiext.base.webhook.clientcmd.service_account import in_cluster, load
from hack.lib.servers.certificates import Authority

POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.mark.parametrize("host,url", [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")])
async def test_reads_the_service_account(tmp_path: Path, host: str, url: str) -> None:
    """Read the address from the environment, the authority from a file, and the token file for each call."""
    (tmp_path / "ca.crt").write_bytes(Authority(tmp_path / "pki").cert.read_bytes())
    (tmp_path / "token").write_text("one\n")

    endpoint = load(POD | {"KUBERNETES_SERVICE_HOST": host}, tmp_path)
    (tmp_path / "token").write_text("two\n")

    assert endpoint.url == url
    assert endpoint.context is not None
    assert len(endpoint.context.get_ca_certs()) == 1
    assert (await endpoint.credential()).authorization == "Bearer two"


def test_uses_the_proxy_of_the_environment(tmp_path: Path) -> None:
    """Reach the API server through the proxy that the environment names, if it is supported."""
    (tmp_path / "ca.crt").write_bytes(Authority(tmp_path / "pki").cert.read_bytes())
    (tmp_path / "token").touch()

    assert load(POD, tmp_path).proxy is None
    assert load(POD | {"HTTPS_PROXY": "http://proxy:3128"}, tmp_path).proxy == URL("http://proxy:3128")
    assert load(POD | {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "10.0.0.0/8"}, tmp_path).proxy is None
    with pytest.raises(KubeconfigError, match="the environment's proxy has scheme 'socks5'"):
        load(POD | {"HTTPS_PROXY": "socks5://proxy"}, tmp_path)


def test_fails_outside_a_pod(tmp_path: Path) -> None:
    """Raise an error that names what is missing."""
    assert in_cluster(POD)
    assert not in_cluster({"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    with pytest.raises(KubeconfigError, match="this is not a pod"):
        load({}, tmp_path)
    with pytest.raises(KubeconfigError, match="token: No such file"):
        load(POD, tmp_path)
