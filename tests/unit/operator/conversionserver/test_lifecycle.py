"""The start of the webhook."""

import os
import signal
from pathlib import Path

import pytest

from apiext.cli.conversions.serve import serve
from apiext.operator.conversionserver.lifecycle import serve_conversions
from apiext.operator.conversionserver.options import ConvertOptions, read_options
from apiext.server.start_error import StartError
from hack.lib.servers.certificates import Authority
from tests.support.builders.kubeconfigs import write_kubeconfig


def _options(folder: Path, *flags: str) -> ConvertOptions:
    config = write_kubeconfig(folder / "config", "http://127.0.0.1:9")
    pair = Authority(folder / "pki").issue("hook")
    files = [f"--tls-cert-file={pair.cert}", f"--tls-private-key-file={pair.key}"]
    own = ["--service=a/b", "--secure-port=0", "--bind-address=127.0.0.1", f"--kubeconfig={config}", "--no-leader-elect"]
    return read_options(serve.make_context("serve", [*own, *files, *flags]).params)


async def test_listens_before_the_cluster_answers_and_ends_at_a_signal(tmp_path: Path) -> None:
    """Answer on the port, so that probes see what is missing, and end gracefully at SIGTERM."""
    facts: list[dict[str, str]] = []

    def started(found: dict[str, str]) -> None:
        facts.append(found)
        os.kill(os.getpid(), signal.SIGTERM)

    await serve_conversions(_options(tmp_path), started=started)

    assert facts[0].keys() == {"address", "webhook", "cluster"}
    assert facts[0]["webhook"] == "Service a/b, port 443"


async def test_a_wrong_key_ends_the_start(tmp_path: Path) -> None:
    """Say that the files are no certificate and its key."""
    other = Authority(tmp_path / "other").issue("other")

    with pytest.raises(StartError, match="are not a certificate and its key"):
        await serve_conversions(_options(tmp_path, f"--tls-private-key-file={other.key}"), started=lambda _: None)


async def test_missing_credentials_end_the_start(tmp_path: Path) -> None:
    """Say that the kubeconfig cannot be used."""
    options = _options(tmp_path)
    (tmp_path / "config").write_text("{}")

    with pytest.raises(StartError, match="invalid credentials for the cluster"):
        await serve_conversions(options, started=lambda _: None)
