"""The extension-apiserver-authentication ConfigMap."""

from pathlib import Path

from apiext.api.authentication.cluster_config import ClusterConfig
from apiext.api.authentication.request_header import RequestHeaders
from hack.lib.servers.certificates import Authority


def _data(folder: Path) -> dict[str, str]:
    pem = Authority(folder).cert.read_text()
    return {
        "client-ca-file": pem,
        "requestheader-client-ca-file": pem,
        "requestheader-allowed-names": '["front"]',
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-uid-headers": '["X-Remote-Uid"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    }


def test_reads_all_entries(tmp_path: Path) -> None:
    """Return authorities, names and headers."""
    data = _data(tmp_path)

    config, problems = ClusterConfig().updated({"data": data})

    assert problems == []
    headers = RequestHeaders(("X-Remote-User",), ("X-Remote-Uid",), ("X-Remote-Group",), ("X-Remote-Extra-",))
    pem = data["client-ca-file"]
    assert config == ClusterConfig(client_ca=pem, proxy_ca=pem, proxy_names=frozenset({"front"}), headers=headers)


def test_keeps_missing_authorities(tmp_path: Path) -> None:
    """Keep and report missing authorities; clear missing headers."""
    before, _ = ClusterConfig().updated({"data": _data(tmp_path)})

    config, problems = before.updated({})

    assert (config.client_ca, config.proxy_ca) == (before.client_ca, before.proxy_ca)
    assert (config.proxy_names, config.headers) == (frozenset(), RequestHeaders())
    assert problems == ["client-ca-file: missing", "requestheader-client-ca-file: missing"]


def test_keeps_invalid_entries(tmp_path: Path) -> None:
    """Keep the previous value of an invalid entry, names and headers together."""
    data = _data(tmp_path)
    before, _ = ClusterConfig().updated({"data": data})
    broken = {"client-ca-file": "rubbish", "requestheader-group-headers": '["X"]', "requestheader-uid-headers": "[1]"}

    config, problems = before.updated({"data": data | broken})

    assert config == before
    assert problems[0].startswith("client-ca-file: ")
    assert problems[1:] == ["requestheader-uid-headers: not a list of strings"]
    assert before.updated({"data": data | {"requestheader-uid-headers": "null"}})[0].headers.uid == ()
