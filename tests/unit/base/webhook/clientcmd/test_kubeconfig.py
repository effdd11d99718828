"""Kubeconfig files."""

import base64
import json
import ssl
from pathlib import Path
from typing import Any

import pytest

from apiext.base.webhook.clientcmd.kubeconfig import KubeconfigError, load, load_merged
from hack.lib.servers.certificates import Authority
from tests.support.builders.kubeconfigs import kubeconfig_of

V1 = "client.authentication.k8s.io/v1"


def _write(folder: Path, config: object) -> Path:
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    return path


def test_reads_certificates_as_data_and_as_files(tmp_path: Path) -> None:
    """Read certificates from the kubeconfig, and from files relative to its folder."""
    authority = Authority(tmp_path / "ca")
    pair = authority.issue("somebody")
    data = {
        f"{name}-data": base64.b64encode(path.read_bytes()).decode()
        for name, path in (("client-certificate", pair.cert), ("client-key", pair.key))
    }
    files = {"client-certificate": str(pair.cert.relative_to(tmp_path)), "client-key": str(pair.key)}

    for user in (data, files):
        cluster = {"server": "https://127.0.0.1:1/", "certificate-authority": "ca/ca.crt"}
        endpoint = load(_write(tmp_path, kubeconfig_of(cluster, user)))

        assert endpoint.url == "https://127.0.0.1:1"
        assert endpoint.context is not None
        assert endpoint.context.verify_mode == ssl.CERT_REQUIRED
        assert len(endpoint.context.get_ca_certs()) == 1


@pytest.mark.parametrize(
    "user,header",
    [
        ({"token": "t"}, "Bearer t"),
        ({"username": "u", "password": "p"}, "Basic dTpw"),
        ({"tokenFile": "token"}, "Bearer from a file"),
        ({}, ""),
        ({"exec": None}, ""),
        ({"token": "t", "exec": {"never": "run"}}, "Bearer t"),
    ],
)
async def test_reads_static_credentials(tmp_path: Path, user: dict[str, Any], header: str) -> None:
    """Make a header of tokens, token files and passwords; they take precedence over a plugin."""
    (tmp_path / "token").write_text("from a file\n")

    endpoint = load(_write(tmp_path, kubeconfig_of({"server": "http://127.0.0.1:1"}, user)))

    assert (await endpoint.credential()).authorization == header
    assert endpoint.context is None


def test_skips_verification(tmp_path: Path) -> None:
    """Verify no certificate with insecure-skip-tls-verify."""
    context = load(_write(tmp_path, kubeconfig_of({"server": "https://a", "insecure-skip-tls-verify": True}))).context

    assert context is not None
    assert context.verify_mode == ssl.CERT_NONE


@pytest.mark.parametrize(
    "config,problem",
    [
        ([], "kubeconfig: not of type object"),
        ({"users": [{}, {"user": {"token": 1234}}]}, "kubeconfig: users[1].user.token: not of type string or null"),
        (kubeconfig_of({"server": "https://a"}, {"exec": {"args": "secret"}}), "users[0].user.exec.args: not of type array or null"),
        ({}, "contexts has no ''"),
        (kubeconfig_of({}), "the cluster's server '' is not a URL"),
        (
            kubeconfig_of({"server": "https://a", "proxy-url": "socks5://u:secret@a"}),
            "the cluster's proxy-url has scheme 'socks5'; only http and https proxies are supported",
        ),
        (kubeconfig_of({"server": "https://a"}, {"as": "ann"}), "the user's as is not supported"),
        (kubeconfig_of({"server": "https://a"}, {"exec": {}}), "client.authentication.k8s.io/v1beta1"),
        (kubeconfig_of({"server": "https://a"}, {"exec": {"apiVersion": "v1"}}), "client.authentication.k8s.io/v1beta1"),
        (kubeconfig_of({"server": "https://a"}, {"exec": {"apiVersion": V1}}), "the user's exec: malformed request. missing key 'command'"),
        (kubeconfig_of({"server": "https://a"}, {"exec": {"apiVersion": V1, "interactiveMode": "Always"}}), "and there is no terminal"),
        (kubeconfig_of({"server": "https://a"}, {"exec": {"command": "a"}, "auth-provider": {"name": "b"}}), "both exec and auth-provider"),
        (kubeconfig_of({"server": "https://a"}, {"auth-provider": {"name": "azure"}}), "'azure' is not supported; use an exec plugin"),
        (
            kubeconfig_of({"server": "https://a"}, {"auth-provider": {"name": "gcp"}}),
            "the user's auth-provider 'gcp' is not supported; use an exec plugin",
        ),
        (kubeconfig_of({"server": "https://a"}, {"auth-provider": {"name": "oidc"}}), "oidc has neither id-token nor refresh-token"),
        (kubeconfig_of({"server": "https://a", "certificate-authority-data": "?"}), "certificate-authority-data is not base64"),
        (kubeconfig_of({"server": "https://a", "certificate-authority": "none"}), "none: No such file or directory"),
    ],
)
def test_rejects_invalid_files(tmp_path: Path, config: object, problem: str) -> None:
    """Raise an error with the reason in one line."""
    with pytest.raises(KubeconfigError) as found:
        load(_write(tmp_path, config))

    assert str(found.value).endswith(problem)
    assert "secret" not in str(found.value)
    assert "\n" not in str(found.value)


def test_allows_unknown_fields_and_null(tmp_path: Path) -> None:
    """Read a kubeconfig with fields that are not known, and null where a value could be."""
    config = kubeconfig_of({"server": "https://a", "proxy-url": None, "x": 1}, {"token": None, "x": 1}) | {
        "preferences": {},
        "extensions": None,
    }

    assert load(_write(tmp_path, config)).url == "https://a"


def test_merges_kubeconfigs(tmp_path: Path) -> None:
    """Take the first entry of a name of several files, each with its own folder, and the first current context."""
    authority = Authority(tmp_path / "second" / "ca")
    first = {"contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {"token": "1"}}]}
    cluster = {"server": "https://h", "certificate-authority": str(authority.cert.relative_to(tmp_path / "second"))}
    second = {
        "current-context": "a",
        "clusters": [{"name": "c", "cluster": cluster}],
        "contexts": [{"name": "a", "context": {}}, {"name": "b", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": "2"}}],
    }
    (tmp_path / "first").mkdir()
    paths = [_write(tmp_path / "first", first), tmp_path / "missing", _write(tmp_path / "second", second)]

    name, endpoint = load_merged(paths)
    assert (name, endpoint.url, endpoint.authorization) == ("a", "https://h", "Bearer 1")
    assert endpoint.context is not None
    assert len(endpoint.context.get_ca_certs()) == 1
    assert load_merged(paths, "b")[0] == "b"
    with pytest.raises(KubeconfigError, match=f"{paths[0]}:{paths[1]}:{paths[2]}: contexts has no 'x'"):
        load_merged(paths, "x")
