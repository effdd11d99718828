"""The flags of apiext operate."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from apiext.base.meta.flags import OptionsError
from apiext.cli.operate import operate
from apiext.operator.ca_bundle import CABundleFile, read_ca_bundle
from apiext.operator.options import OperatorOptions, read_options
from hack.lib.servers.certificates import Authority
from tests.support.captured_logs import logged


def _read(*flags: str) -> OperatorOptions:
    context = operate.make_context("operate", list(flags))
    return read_options(context.params)


def test_reads_defaults() -> None:
    """Use the pod's cluster, the default label, the Service's name, and a lease."""
    options = _read("--service=a/b")

    assert (options.kubeconfig, options.selector.text, options.server) == (None, "apiext.dev/serve=true", "https://b.a.svc:443")
    assert (options.namespace, options.leader_elect, options.timing.lease, options.host_etcd) == ("apiext-system", True, 15.0, None)


def test_reads_every_flag(tmp_path: Path) -> None:
    """Read each flag."""
    ca = Authority(tmp_path).cert
    options = _read(
        *("--service=a/b", "--service-port=8443", "--server=https://x:1/", f"--ca-file={ca}", f"--kubeconfig={ca}", "--crd-selector="),
        *("--no-leader-elect", "--namespace=n", "--leader-elect-retry-period=1s", "--v=2", "--metrics-bind-address=[::1]:8080"),
        *("--host-etcd-servers=https://e:2379, https://f:2379", "--host-etcd-prefix=/p", f"--host-etcd-cafile={ca}"),
    )

    assert (options.port, options.server, options.ca_file, options.kubeconfig) == (8443, "https://x:1", ca, ca)
    assert (options.selector.empty, options.leader_elect, options.namespace, options.timing.retry) == (True, False, "n", 1.0)
    assert options.metrics_address == ("::1", 8080)
    assert options.host_etcd is not None
    assert (options.host_etcd.servers, options.host_etcd.prefix) == (("https://e:2379", "https://f:2379"), "/p")


@pytest.mark.parametrize(
    "flags,problem",
    [
        ((), "--service: it must say where the host finds apiext, as NAMESPACE/NAME"),
        (("--service=a",), "--service: 'a' is not NAMESPACE/NAME"),
        (("--service=a/b", "--service-port=0"), "--service-port: 0 is not between 1 and 65535"),
        (("--service=a/b", "--server=http://x"), "--server: 'http://x' is not an https:// URL"),
        (("--service=a/b", "--crd-selector=a in"), "--crd-selector: "),
        (("--service=a/b", "--kubeconfig=/nowhere"), "--kubeconfig: /nowhere: No such file or directory"),
        (("--service=a/b", "--ca-file=/dev/null"), "--ca-file: /dev/null: it holds no certificate in PEM that can be used"),
        (("--service=a/b", "--ca-file=/dev/null", "--serving-secret=a/b"), "--ca-file: --serving-secret says the same"),
        (("--service=a/b", "--manage-serving-secret"), "--manage-serving-secret: needs --serving-secret"),
        (("--service=a/b", "--leader-elect-lease-duration=5s"), "--leader-elect-lease-duration: it must be a second at least, and more"),
        (("--service=a/b", "--leader-elect-retry-period=x"), "--leader-elect-retry-period: 'x' is not a duration such as 30s"),
        (("--service=a/b", "--leader-elect-retry-period=20s"), "--leader-elect-retry-period: it must be more than 0s, and less"),
        (("--service=a/b", "--metrics-bind-address=8080"), "--metrics-bind-address: '8080' is not IP:PORT"),
        (("--service=a/b", "--metrics-bind-address=127.0.0.1:70000"), "--metrics-bind-address: '127.0.0.1:70000' is not IP:PORT"),
        (("--service=a/b", "--host-etcd-servers=e:1"), "--host-etcd-servers: 'e:1' is not http://host:port or https://host:port"),
        (("--service=a/b", "--host-etcd-keyfile=/dev/null"), "--host-etcd-keyfile: needs --host-etcd-certfile too"),
        (("--service=a/b", "--v=x"), "--v: 'x' is not a whole number"),
    ],
)
def test_names_the_wrong_flag(flags: tuple[str, ...], problem: str) -> None:
    """Report a problem under the name of its flag."""
    with pytest.raises(OptionsError) as wrong:
        _read(*flags)

    assert [one[: len(problem)] for one in wrong.value.problems] == [problem]


def test_reports_unusable_credentials(tmp_path: Path) -> None:
    """Report unusable credentials in one line."""
    broken = tmp_path / "kubeconfig"
    broken.write_text("x: y")
    done = CliRunner(env={"KUBERNETES_SERVICE_HOST": ""}).invoke(operate, ["--service=a/b", f"--kubeconfig={broken}"])

    assert done.exit_code != 0
    assert f"invalid credentials for the host: {broken}: contexts has no ''" in done.output


async def test_reads_the_ca_file_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Publish a changed file; log an invalid file once, and keep the last bundle."""
    first, second = Authority(tmp_path / "a", "a").cert.read_text(), Authority(tmp_path / "b", "b").cert.read_text()
    path = tmp_path / "ca.crt"
    path.write_text(first)
    authorities: Any = CABundleFile(path)
    assert await authorities.changed("") == first

    for text in ("rubbish", "rubbish"):
        path.write_text(text)
        authorities.read()
    assert authorities.bundle == first
    assert [line["event"] for line in logged(caplog)] == ["invalid CA bundle file, keeping the last bundle"]

    path.write_text(first + second)
    authorities.read()
    assert await authorities.changed(first) == read_ca_bundle(path) == first + second
