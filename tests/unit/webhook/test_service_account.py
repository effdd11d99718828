"""The cluster of a pod."""

from pathlib import Path

import pytest

from apiext.webhook.kubeconfig import KubeconfigError
from apiext.webhook.service_account import in_cluster, load
from hack.lib.servers.certificates import Authority

POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.mark.parametrize("host,url", [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")])
def test_in_a_pod(tmp_path: Path, host: str, url: str) -> None:
    """The address is in the environment, the authority and the token, which is renewed, in a folder."""
    (tmp_path / "ca.crt").write_bytes(Authority(tmp_path / "pki").cert.read_bytes())
    (tmp_path / "token").write_text("one\n")

    endpoint = load(POD | {"KUBERNETES_SERVICE_HOST": host}, tmp_path)
    (tmp_path / "token").write_text("two\n")

    assert endpoint.url == url
    assert endpoint.context is not None
    assert len(endpoint.context.get_ca_certs()) == 1
    assert endpoint.headers() == {"Authorization": "Bearer two"}


def test_elsewhere(tmp_path: Path) -> None:
    """What is missing is told."""
    assert in_cluster(POD)
    assert not in_cluster({"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    with pytest.raises(KubeconfigError, match="this is no pod"):
        load({}, tmp_path)
    with pytest.raises(KubeconfigError, match="token: No such file"):
        load(POD, tmp_path)
