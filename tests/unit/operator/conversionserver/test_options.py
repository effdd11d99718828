"""The flags of apiext convert serve."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from apiext.base.meta.flags import OptionsError
from apiext.cli.conversions.serve import serve
from apiext.operator.conversionserver.options import ConvertOptions, read_options
from hack.lib.servers.certificates import Authority


def _read(*flags: str) -> ConvertOptions:
    return read_options(serve.make_context("serve", list(flags)).params)


def test_reads_defaults() -> None:
    """Listen on all addresses, and take a lease of its own namespace."""
    options = _read("--service=a/b", "--serving-secret=a/s")

    assert (options.bind_address, options.port, options.target.port, options.min_tls_version) == ("0.0.0.0", 9443, 443, "VersionTLS12")
    assert (options.namespace, options.leader_elect, options.timing.lease, options.shutdown_delay) == ("apiext-system", True, 15.0, 0.0)
    assert (options.manage_secret, options.certificate, options.ca_file, str(options.secret)) == (False, None, None, "a/s")


def test_reads_every_flag(tmp_path: Path) -> None:
    """Read each flag."""
    authority = Authority(tmp_path)
    pair = authority.issue("hook")
    options = _read(
        *("--service=a/b", "--service-port=8443", "--url=https://h:1/convert", f"--ca-file={authority.cert}"),
        *(f"--tls-cert-file={pair.cert}", f"--tls-private-key-file={pair.key}", "--tls-min-version=VersionTLS13"),
        *("--bind-address=::1", "--secure-port=0", "--no-leader-elect", "--namespace=n", "--leader-elect-retry-period=1s"),
        *("--manage-serving-secret", "--shutdown-delay-duration=5s", "--v=2", f"--kubeconfig={pair.cert}"),
    )

    assert (options.target.port, options.target.url, options.ca_file, options.kubeconfig) == (
        8443,
        "https://h:1/convert",
        authority.cert,
        pair.cert,
    )
    assert options.certificate is not None
    assert (options.certificate.cert, options.certificate.key) == (pair.cert, pair.key)
    assert (options.bind_address, options.port, options.leader_elect, options.timing.retry) == ("::1", 0, False, 1.0)
    assert (options.namespace, options.manage_secret, options.shutdown_delay, options.verbosity) == ("n", True, 5.0, 2)


SECRET = "--serving-secret=a/s"
PROBLEMS = {
    "no place": ([SECRET], "--service: it must say where kube-apiserver finds this webhook, as NAMESPACE/NAME; or --url must"),
    "no certificate": (["--service=a/b"], "--serving-secret: give it or --tls-cert-file"),
    "no key": (["--service=a/b", f"--tls-cert-file={__file__}"], "--tls-cert-file: needs --tls-private-key-file too"),
    "Service": (["--service=b", SECRET], "--service: 'b' is not NAMESPACE/NAME"),
    "URL": (["--url=http://a/", SECRET], "--url: 'http://a/' is not an https:// URL without user, query and fragment"),
    "query": (["--url=https://a/?b", SECRET], "--url: 'https://a/?b' is not an https:// URL without user, query and fragment"),
    "address": (["--service=a/b", SECRET, "--bind-address=h"], "--bind-address: 'h' is not an IP address"),
    "TLS": (
        ["--service=a/b", SECRET, "--tls-min-version=1"],
        "--tls-min-version: '1' is neither VersionTLS12 nor VersionTLS13",
    ),
    "two CAs": (["--service=a/b", SECRET, f"--ca-file={__file__}"], "--ca-file: --serving-secret holds the CA"),
    "no CA": (
        ["--service=a/b", f"--tls-cert-file={__file__}", f"--tls-private-key-file={__file__}", f"--ca-file={__file__}"],
        f"--ca-file: {__file__}: it holds no certificate in PEM that can be used",
    ),
}


@pytest.mark.parametrize("flags, problem", PROBLEMS.values(), ids=PROBLEMS)
def test_names_problems(flags: list[str], problem: str) -> None:
    """Say which flag is wrong."""
    with pytest.raises(OptionsError) as caught:
        _read(*flags)

    assert problem in caught.value.problems


def test_the_command_prints_problems() -> None:
    """End with a usage error that has all problems."""
    done = CliRunner().invoke(serve, [])

    assert done.exit_code == 2
    assert "--service" in done.output
    assert "--serving-secret" in done.output
