"""Feature gates that kube-apiserver refuses, and admission plugins that it knows and refuses."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from apiext.server.options.admission_plugins import AdmissionPlugins
from hack.lib.reference import binaries

REFUSED = [
    "--feature-gates=WatchList",
    "--feature-gates=WatchList=x",
    "--enable-admission-plugins=Nope",
    "--disable-admission-plugins=Nope",
    "--enable-admission-plugins=NamespaceLifecycle,ResourceQuota --disable-admission-plugins=ResourceQuota,NamespaceLifecycle",
]


def _kube_apiserver(*arguments: str) -> tuple[int, str]:
    done = subprocess.run([binaries.binary("kube-apiserver"), *arguments], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def usage() -> str:
    """Return the reference's description of its flags."""
    return _kube_apiserver("--help")[1]


@pytest.mark.parametrize("flags", REFUSED)
def test_refusals(flags: str, tmp_path: Path) -> None:
    """Refuse flags with the reference's text and exit code."""
    key = tmp_path / "key"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    accounts = [f"--service-account-signing-key-file={key}", f"--service-account-key-file={key}", "--service-cluster-ip-range=10.0.0.0/24"]
    others = ["--service-account-issuer=https://x", "--etcd-servers=http://127.0.0.1:1", "--secure-port=6443", f"--cert-dir={tmp_path}"]
    code, output = _kube_apiserver(*flags.split(), *accounts, *others)
    expected = re.search(r'"command failed" err="(.*)"$', output, re.MULTILINE)

    mine = subprocess.run(
        [sys.executable, "-m", "apiext", "serve", *flags.split(), f"--data-dir={tmp_path}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert expected is not None, output
    assert (mine.returncode, mine.stderr) == (code, f"apiext: {expected[1].replace(chr(92), '')}\n")


def test_knows_all_plugins(usage: str) -> None:
    """Know every admission plugin that the reference documents."""
    listed = re.search(r"Comma-delimited list of admission plugins: ([\w, ]+)\.", usage)

    assert listed is not None
    assert AdmissionPlugins(enabled=frozenset(listed[1].split(", "))).problems() == []
