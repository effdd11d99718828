"""Kubeconfig files as a server reads them."""

import base64
import json
import ssl
from pathlib import Path
from typing import Any

import pytest

from apiext.webhook.kubeconfig import KubeconfigError, load
from hack.lib.servers.certificates import Authority


def _config(cluster: dict[str, Any], user: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", **({"user": "u"} if user is not None else {})}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user or {}}],
    }


def _write(folder: Path, config: object) -> Path:
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    return path


def test_certificates_as_data_and_as_files(tmp_path: Path) -> None:
    """What stands in the file counts as what it names, relative to its own folder."""
    authority = Authority(tmp_path / "ca")
    pair = authority.issue("somebody")
    data = {
        f"{name}-data": base64.b64encode(path.read_bytes()).decode()
        for name, path in (("client-certificate", pair.cert), ("client-key", pair.key))
    }
    files = {"client-certificate": str(pair.cert.relative_to(tmp_path)), "client-key": str(pair.key)}

    for user in (data, files):
        cluster = {"server": "https://127.0.0.1:1/", "certificate-authority": "ca/ca.crt"}
        endpoint = load(_write(tmp_path, _config(cluster, user)))

        assert endpoint.url == "https://127.0.0.1:1"
        assert endpoint.context is not None
        assert endpoint.context.verify_mode == ssl.CERT_REQUIRED
        assert len(endpoint.context.get_ca_certs()) == 1


@pytest.mark.parametrize(
    "user,header",
    [
        ({"token": "t"}, {"Authorization": "Bearer t"}),
        ({"username": "u", "password": "p"}, {"Authorization": "Basic dTpw"}),
        ({"tokenFile": "token"}, {"Authorization": "Bearer from a file"}),
        ({}, {}),
    ],
)
def test_credentials(tmp_path: Path, user: dict[str, Any], header: dict[str, str]) -> None:
    """Tokens, files of tokens and passwords become a header."""
    (tmp_path / "token").write_text("from a file\n")

    endpoint = load(_write(tmp_path, _config({"server": "http://127.0.0.1:1"}, user)))

    assert endpoint.headers() == header
    assert endpoint.context is None


def test_insecure_clusters(tmp_path: Path) -> None:
    """A cluster may be trusted without a look at its certificate, if the file says so."""
    context = load(_write(tmp_path, _config({"server": "https://a", "insecure-skip-tls-verify": True}))).context

    assert context is not None
    assert context.verify_mode == ssl.CERT_NONE


@pytest.mark.parametrize(
    "config,problem",
    [
        ([], "it is not a kubeconfig"),
        ({}, "contexts has no ''"),
        (_config({}), "the cluster's server '' is no URL"),
        (_config({"server": "https://a"}, {"exec": {}}), "the user's exec is not supported"),
        (_config({"server": "https://a", "certificate-authority-data": "?"}), "certificate-authority-data is not base64"),
        (_config({"server": "https://a", "certificate-authority": "none"}), "none: No such file or directory"),
    ],
)
def test_problems(tmp_path: Path, config: object, problem: str) -> None:
    """What cannot be used is told in one line."""
    with pytest.raises(KubeconfigError) as found:
        load(_write(tmp_path, config))

    assert str(found.value).endswith(problem)
    assert "\n" not in str(found.value)
