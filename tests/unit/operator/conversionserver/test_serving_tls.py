"""The certificate that the webhook presents."""

import base64
import datetime
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from apiext.base.cert.issuing import Pem, issue_serving, new_authority
from apiext.operator.conversionserver.serving_tls import SecretCertificate, tls_of_files
from apiext.operator.names import NamespacedName
from apiext.server.start_error import StartError
from apiext.server.tls.server_pki import KeyPair
from hack.lib.servers.certificates import Authority
from tests.support.captured_logs import logged

NOW = datetime.datetime.now(datetime.UTC)
SECRET = NamespacedName("apiext-system", "serving")


def _secret(pair: Pem) -> dict[str, Any]:
    data = {"tls.crt": pair.cert, "tls.key": pair.key}
    return {"data": {name: base64.b64encode(text.encode()).decode() for name, text in data.items()}}


def _pair() -> Pem:
    return issue_serving(new_authority("ca", NOW), ["localhost"], NOW)


async def test_follows_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    """Present the certificate of the Secret, and keep the last one while there is no other."""
    first, second = _pair(), _pair()
    follower = SecretCertificate(SECRET, "VersionTLS12")

    follower.replaced([])
    follower.changed({"data": {}})
    assert not follower.tls.done()
    follower.changed(_secret(first))
    tls = await follower.tls
    assert tls.keys[0].cert == first.cert.encode()
    follower.deleted({})
    follower.changed(_secret(Pem(second.cert, first.key)))
    assert tls.keys[0].cert == first.cert.encode()
    follower.changed(_secret(second))
    assert tls.keys[0].cert == second.cert.encode()

    assert [line["event"] for line in logged(caplog)] == ["serving certificate of the Secret unusable, keeping the last one"]


async def test_reads_files(tmp_path: Path) -> None:
    """Present the certificate of files, and end the start with an unusable one."""
    pair = Authority(tmp_path).issue("hook")
    async with AsyncExitStack() as stack:
        tls = tls_of_files(KeyPair(pair.cert, pair.key), "VersionTLS12", stack)
        assert tls.keys[0].cert == pair.cert.read_bytes()
        with pytest.raises(StartError, match="not a certificate and its key"):
            tls_of_files(KeyPair(pair.key, pair.cert), "VersionTLS12", stack)
