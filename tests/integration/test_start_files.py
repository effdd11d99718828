"""What flags name: files and folders that cannot be used refuse the start, in one line."""

import asyncio
import http.client
import json
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from apiext.api.authentication.serviceaccount.keys import new_signing_key
from apiext.base.meta.flags import OptionsError
from apiext.base.meta.golang import base64_url
from apiext.cli.flags import FLAGS
from apiext.server.aiohttp_import import import_aiohttp
from apiext.server.options.flags import read_options
from apiext.server.start_error import StartError
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.certificates import Authority

_KINDS: Final = {"FILE": "file", "FILES": "file", "CERT,KEY[:NAMES]": "pair", "DIR": "folder"}
"""What flags name, by the placeholder of their value."""
_CONTENTS: Final[dict[str, bytes | None]] = {
    "missing": None,
    "empty": b"",
    "binary": bytes(range(256)) * 4,
    "text": b"a: b\n",
    "list": b"[1, {]}\n",
    "types": b'{"apiVersion": 5, "kind": ["x"], "clusters": "x", "users": 5, "rules": 7}',
    "pem": b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
}
_USABLE: Final[dict[str, set[str]]] = {
    "audit_log_path": {*_CONTENTS},
    "token_auth_file": {"empty", "types"},
    "crd_dir": {"folder"},
    "data_dir": {"folder", "missing"},
    "cert_dir": {"folder", "missing"},
}
"""What flags take: a log is appended to; a table of tokens may be empty, or have columns of any text; folders are created."""


class _StartedError(Exception):
    """The server is ready."""


def _started(_facts: dict[str, str]) -> None:
    raise _StartedError


def _refusal(flags: dict[str, Any]) -> str:
    """Return why a server does not start, empty if it does."""
    import_aiohttp()
    from apiext.server.lifecycle import serve

    try:
        asyncio.run(serve(read_options(flags), started=_started))
    except (StartError, OptionsError) as error:
        return str(error)
    except _StartedError:
        return ""
    raise AssertionError("the server has ended")


@pytest.fixture
def flags(tmp_path: Path) -> dict[str, Any]:
    """Return the flags of a server on SQLite."""
    return {"data_dir": str(tmp_path / "data"), "secure_port": "0"}


def _together(name: str, value: str, folder: Path) -> dict[str, Any]:
    """Return the flags that a flag needs."""
    if name.startswith("tls_") and name.endswith("_file"):
        return {"tls_cert_file": value, "tls_private_key_file": value}
    if name.startswith("etcd_"):
        pair = {"etcd_certfile": value, "etcd_keyfile": value} if name != "etcd_cafile" else {}
        return {"etcd_servers": ("https://127.0.0.1:1",), **pair}
    if name.startswith("audit_") and name != "audit_policy_file":
        (folder / "policy").write_text("{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None}]}")
        return {"audit_policy_file": str(folder / "policy")}
    if name == "service_account_key_file":
        (folder / "signing.key").write_bytes(new_signing_key())
        return {"service_account_signing_key_file": str(folder / "signing.key")}
    return {"authorization_mode": ("Webhook",)} if name == "authorization_kubeconfig" else {}


@pytest.mark.parametrize("content", [*_CONTENTS, "folder"])
@pytest.mark.parametrize("flag", [flag for flag in FLAGS if flag.metavar in _KINDS], ids=lambda flag: str(flag.name))
def test_checks_what_flags_name(flag: Any, content: str, flags: dict[str, Any], tmp_path: Path) -> None:
    """Refuse to start if a file or folder of a flag is missing or unusable; leave it as it is."""
    name, path = flag.name, tmp_path / "named"
    data = _CONTENTS.get(content)
    if content == "folder":
        path.mkdir()
    elif data is not None:
        path.write_bytes(data)
    value = f"{path},{path}" if _KINDS[flag.metavar] == "pair" else str(path)
    flags |= {name: (value,) if flag.multiple else value, **_together(name, str(path), tmp_path)}

    refusal = _refusal(flags)

    assert (refusal == "") == (content in _USABLE.get(name, ())), refusal
    if data is not None and name != "audit_log_path":
        assert path.read_bytes() == data


@pytest.mark.parametrize("flag", ["cert_dir", "data_dir"])
def test_refuses_folders_that_others_may_write(flag: str, flags: dict[str, Any], tmp_path: Path) -> None:
    """Refuse a folder of keys that other users may write, and name its mode."""
    pki = tmp_path / "named" if flag == "cert_dir" else tmp_path / "named" / "pki"
    pki.mkdir(parents=True)
    pki.chmod(0o757)

    refusal = _refusal(flags | {flag: str(tmp_path / "named")})

    expected = f"cannot store certificates in {pki}: other users may write to it (its mode is 0757; 0700 is safe)"
    assert refusal == expected


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[ApiextServer]:
    """Return a server, not started, that has certificates and the authority of its clients from outside, and no folder for keys."""
    authority = Authority(tmp_path / "authority", "authority")
    shown, admin = authority.issue("server"), authority.issue("ann", groups=["system:masters"])
    files = [f"--tls-cert-file={shown.cert}", f"--tls-private-key-file={shown.key}", f"--client-ca-file={authority.cert}"]
    server = ApiextServer(tmp_path, extra_args=[*files, "--authorization-mode=RBAC"])
    server.ca, server.client_cert, server.client_key = authority.cert, admin.cert, admin.key
    yield server
    server.stop()


def _token(issuer: str = "https://kubernetes.default.svc.cluster.local") -> str:
    """Return a token that nobody signed."""
    return ".".join(base64_url.encode(json.dumps(part).encode()) for part in ({"alg": "RS256"}, {"iss": issuer}, {}))


def _anonymous(server: ApiextServer, token: str) -> tuple[int, bytes]:
    """Return the answer to a client that has a token only."""
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30, context=server.ssl_context(credentials=False))
    try:
        connection.request("GET", "/api/v1/namespaces", headers={"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_keys_of_service_accounts_need_no_folder(mounted: ApiextServer) -> None:
    """Issue tokens and answer for keys in a folder that did not exist; refuse tokens of others, which make no key."""
    mounted.start()
    key = mounted.cert_dir / "service-account.key"

    assert stat.S_IMODE(mounted.cert_dir.stat().st_mode) == 0o700
    assert _anonymous(mounted, _token())[0] == 401
    assert not key.exists()
    assert mounted.request("GET", "/openid/v1/jwks")[0] == 200
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    mounted.request("POST", "/api/v1/namespaces/default/serviceaccounts", b'{"metadata": {"name": "bot"}}')
    status, _, body = mounted.request("POST", "/api/v1/namespaces/default/serviceaccounts/bot/token", b"{}")
    assert status == 201
    assert _anonymous(mounted, json.loads(body)["status"]["token"])[0] == 403


def test_lost_keys_are_no_panic(mounted: ApiextServer) -> None:
    """Answer 401 to tokens, and a clear 500 to those who may have them, after the folder of the key has gone."""
    mounted.start()
    shutil.rmtree(mounted.cert_dir)
    mounted.cert_dir.touch()
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    mounted.request("POST", accounts, b'{"metadata": {"name": "bot"}}')

    refused = _anonymous(mounted, _token())
    answers = [mounted.request("GET", "/openid/v1/jwks"), mounted.request("POST", f"{accounts}/bot/token", b"{}")]

    assert (refused[0], json.loads(refused[1])["message"]) == (401, "Unauthorized")
    reason = "the keys of service accounts cannot be used"
    assert [(status, json.loads(body)["message"]) for status, _, body in answers] == [
        (500, f"Internal error occurred: {reason}"),
        (500, f"Internal error occurred: failed to generate token: {reason}"),
    ]
