"""Conversion of flags to options."""

from pathlib import Path
from typing import Any

import pytest

from apiext.base.meta.flags import OptionsError
from apiext.server.options.flags import default_data_dir, read_options
from tests.support.captured_logs import logged


def _problems(**flags: Any) -> list[str]:
    with pytest.raises(OptionsError) as raised:
        read_options(flags)
    return raised.value.problems


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listen on loopback and store data in the user's directory without flags."""
    monkeypatch.setenv("XDG_DATA_HOME", "/data")

    options = read_options({})

    assert (options.serving.bind_address, options.serving.port) == ("127.0.0.1", 6443)
    assert options.storage.data_dir == Path("/data/apiext")
    assert options.serving.cert_dir == Path("/data/apiext/pki")
    assert (options.storage.etcd, options.storage.prefix) == (None, "/registry")
    assert options.authentication.anonymous
    assert options.storage.watch_cache
    assert (options.limits.request_timeout, options.limits.max_in_flight) == (60.0, 100)
    assert options.flags == {}


def test_shows_flags() -> None:
    """Keep the flags as /flagz shows them."""
    options = read_options({"anonymous_auth": True, "etcd_servers": None, "cors_allowed_origins": ("a", "b"), "v": 3})

    assert options.flags == {"anonymous-auth": "true", "cors-allowed-origins": "[a,b]", "etcd-servers": "", "v": "3"}


@pytest.mark.parametrize("value", ["", "relative"])
def test_ignores_a_relative_xdg_path(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """Ignore XDG_DATA_HOME unless it is absolute, as its specification requires."""
    monkeypatch.setenv("XDG_DATA_HOME", value)
    monkeypatch.setenv("HOME", "/home/ann")

    assert default_data_dir() == Path("/home/ann/.local/share/apiext")


@pytest.mark.parametrize("prefix", ["a-b", "/a-b", "/a-b/", "a-b/"])
def test_joins_the_prefix_to_the_root(prefix: str) -> None:
    """Join a prefix to the root, as the reference does."""
    assert read_options({"etcd_prefix": prefix}).storage.prefix == "/a-b"


def test_parses_values() -> None:
    """Parse lists with commas and repetitions, booleans and durations in Go's syntax."""
    options = read_options(
        {
            "etcd_servers": ("http://a:1,https://b:2", "http://c:3"),
            "watch_cache": "F",
            "etcd_compaction_interval": "1m30s",
            "request_timeout": "250ms",
            "feature_gates": ("CBORServingAndStorage=true,WatchList=false",),
            "disable_admission_plugins": ("NamespaceLifecycle,MutatingAdmissionWebhook",),
            "v": "=3",
        }
    )

    assert options.storage.etcd is not None
    assert options.storage.etcd.servers == ("http://a:1", "https://b:2", "http://c:3")
    assert not options.storage.watch_cache
    assert (options.storage.compaction_interval, options.limits.request_timeout) == (90.0, 0.25)
    assert options.feature_gates.explicit == {"CBORServingAndStorage": True, "WatchList": False}
    assert options.admission_plugins.disabled == {"NamespaceLifecycle", "MutatingAdmissionWebhook"}
    assert options.verbosity == 3


def test_streams_ranges_of_etcd() -> None:
    """Stream ranges of etcd unless the gate is disabled."""
    servers = {"etcd_servers": ("http://a:1",)}
    default, without = (
        read_options(servers).storage.etcd,
        read_options(servers | {"feature_gates": ("EtcdRangeStream=false",)}).storage.etcd,
    )

    assert default is not None
    assert without is not None
    assert (default.range_stream, without.range_stream) == (True, False)


@pytest.mark.parametrize(
    "flags, problem",
    [
        ({"secure_port": "x"}, "--secure-port: 'x' is not a whole number"),
        ({"secure_port": "65536"}, "--secure-port: 65536 is not between 0 and 65535"),
        ({"bind_address": "localhost"}, "--bind-address: 'localhost' is not an IP address"),
        ({"watch_cache": "maybe"}, "--watch-cache: 'maybe' is neither true nor false"),
        ({"request_timeout": "5"}, "--request-timeout: '5' is not a duration such as 30s or 1m30s"),
        ({"request_timeout": "0s"}, "--request-timeout: 0s is less than 0.001 s"),
        ({"etcd_servers": ("ftp://a",)}, "--etcd-servers: 'ftp://a' is not a URL such as http://127.0.0.1:2379"),
        ({"etcd_servers": ("http://a:x",)}, "--etcd-servers: 'http://a:x' is not a URL such as http://127.0.0.1:2379"),
        ({"etcd_prefix": "/"}, "--etcd-prefix: must not be empty"),
        ({"tls_min_version": "VersionTLS10"}, "--tls-min-version: 'VersionTLS10' is not one of VersionTLS12, VersionTLS13"),
        ({"client_ca_file": "/no/ca"}, "--client-ca-file: /no/ca: No such file or directory"),
        ({"kubeconfig": "/no/config"}, "--kubeconfig: /no/config: No such file or directory"),
        ({"crd_dir": "/no/folder"}, "--crd-dir: /no/folder: No such file or directory"),
        ({"crd_selector": "a=b"}, "--crd-selector: needs --kubeconfig too outside of a cluster's pod"),
        (
            {"crd_selector": "a in b", "kubeconfig": "/dev/null"},
            "--crd-selector: 'a in b' is not a label selector: unable to parse requirement",
        ),
        ({"service_address": ("a/b=c",)}, "--service-address: 'a/b=c' is not NAMESPACE/NAME=HOST:PORT"),
        ({"service_address": ("/no/file",)}, "--service-address: /no/file: No such file or directory"),
        ({"feature_gates": ("WatchList",)}, "missing bool value for WatchList"),
        ({"disable_admission_plugins": ("Nope",)}, 'disable-admission-plugins plugin "Nope" is unknown'),
        ({"authorization_mode": ("Node",)}, "--authorization-mode: 'Node' is not one of AlwaysAllow, FrontProxy, RBAC, Webhook"),
        ({"authorization_mode": ("FrontProxy",)}, "--authorization-mode: FrontProxy must be the first of several modes"),
        ({"authorization_mode": ("RBAC", "FrontProxy")}, "--authorization-mode: FrontProxy must be the first of several modes"),
        ({"authorization_mode": ("RBAC", "RBAC")}, "--authorization-mode: 'RBAC' must not be given twice"),
        ({"service_account_key_file": (__file__,)}, "--service-account-key-file: needs --service-account-signing-key-file too"),
        ({"authorization_mode": ("Webhook",)}, "--authorization-mode: Webhook needs --authorization-kubeconfig too"),
        ({"authorization_webhook_cache_authorized_ttl": "5"}, "--authorization-webhook-cache-authorized-ttl: '5' is not a duration"),
        ({"cors_allowed_origins": ("(",)}, "--cors-allowed-origins: '(' is not a regular expression: missing ), "),
    ],
)
def test_reports_invalid_values(flags: dict[str, Any], problem: str) -> None:
    """Report each invalid value with its flag."""
    assert [found[: len(problem)] for found in _problems(**flags)] == [problem]


def test_reads_addresses_of_services(tmp_path: Path) -> None:
    """Take addresses from values and from the lines of files."""
    file = tmp_path / "services"
    file.write_text("a/b=host:1\n\n# more\na/c=[::1]:2\n")
    options = read_options({"service_address": (str(file), "d/e=127.0.0.1:3")})

    assert options.service_addresses == {("a", "b"): ("host", 1), ("a", "c"): ("::1", 2), ("d", "e"): ("127.0.0.1", 3)}


def test_selects_the_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefer a flag's own kubeconfig to --kubeconfig, and use the pod's cluster only with mode Webhook."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.touch()
    other.touch()

    def asked(**flags: Any) -> list[Any]:
        options = read_options(flags)
        delegates = (options.authentication.delegate, options.authorization.delegate)
        return [options.authorization.modes, *(delegate and (delegate.flag, delegate.kubeconfig) for delegate in delegates)]

    common = ("--kubeconfig", other)
    assert asked(kubeconfig=str(other)) == [("Webhook",), common, common]
    both = asked(kubeconfig=str(other), authentication_kubeconfig=str(one), authorization_mode=("AlwaysAllow",))
    assert both == [("AlwaysAllow",), ("--authentication-kubeconfig", one), common]
    only = asked(authorization_kubeconfig=str(one))
    assert only == [("Webhook",), None, ("--authorization-kubeconfig", one)]
    assert _problems(authentication_kubeconfig=str(one)) == ["--authorization-mode: Webhook needs --authorization-kubeconfig too"]

    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    pod = ("the pod's service account", None)
    assert asked(authorization_mode=("Webhook",)) == [("Webhook",), pod, pod]
    assert asked() == [("AlwaysAllow",), None, None]


def test_selects_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read definitions of the host with any selector, an empty one too: of the kubeconfig's cluster, else of the pod's."""
    path = tmp_path / "file"
    path.touch()

    def followed(**flags: Any) -> tuple[str | None, Any]:
        options = read_options(flags)
        return options.crd_selector, options.host and (options.host.flag, options.host.kubeconfig)

    assert followed() == followed(authorization_kubeconfig=str(path)) == (None, None)
    assert followed(kubeconfig=str(path)) == (None, ("--kubeconfig", path))
    assert followed(kubeconfig=str(path), crd_selector="") == ("", ("--kubeconfig", path))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    assert followed(kubeconfig=str(path), crd_selector="a!=b") == ("a!=b", ("--kubeconfig", path))
    pod = ("the pod's service account", None)
    assert followed(crd_selector="a") == ("a", pod)
    assert followed(authorization_mode=("Webhook",)) == (None, pod)
    assert followed() == (None, None)


def test_looks_up_missing_authorities(tmp_path: Path) -> None:
    """Read the ConfigMap extension-apiserver-authentication for authorities without a flag."""
    path = tmp_path / "file"
    path.touch()

    def looks_up(**flags: Any) -> bool:
        return read_options({"kubeconfig": str(path), **flags}).authentication.looks_up

    assert looks_up()
    assert looks_up(client_ca_file=str(path))
    assert not looks_up(client_ca_file=str(path), requestheader_client_ca_file=str(path))
    assert not looks_up(authentication_skip_lookup="true")
    assert not read_options({}).authentication.looks_up


def test_priority_and_fairness_needs_seats() -> None:
    """Accept a server without limits only without priority and fairness."""
    unlimited = {"max_requests_inflight": "0", "max_mutating_requests_inflight": "0"}

    assert _problems(**unlimited) == [
        "--enable-priority-and-fairness: --max-requests-inflight and --max-mutating-requests-inflight must not both be 0"
    ]
    assert read_options({"max_requests_inflight": "0"}).limits.priority_and_fairness
    assert not read_options({**unlimited, "enable_priority_and_fairness": "false"}).limits.priority_and_fairness


def test_rejecting_limits_are_wider() -> None:
    """Limit requests as the reference does where those beyond the limit are rejected."""
    limits = read_options({"enable_priority_and_fairness": "false"}).limits
    assert (limits.max_in_flight, limits.max_mutating_in_flight) == (400, 200)
    assert read_options({"max_requests_inflight": "7"}).limits.max_in_flight == 7


def test_reports_all_problems_at_once() -> None:
    """Report all invalid flags at once."""
    assert len(_problems(secure_port="x", bind_address="y", watch_cache="z")) == 3


def test_requires_pairs(tmp_path: Path) -> None:
    """Require the key of a certificate, and --etcd-servers for other flags of etcd."""
    path = tmp_path / "file"
    path.touch()

    assert _problems(tls_cert_file=str(path)) == ["--tls-cert-file: needs --tls-private-key-file too"]
    assert _problems(etcd_keyfile=str(path), etcd_servers=("http://a:1",)) == ["--etcd-keyfile: needs --etcd-certfile too"]
    assert _problems(etcd_cafile=str(path)) == ["--etcd-cafile: needs --etcd-servers too"]


def test_logs_front_proxy_flags_without_effect(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Log flags about front proxies that are given without the CA, and what counts in their place; nothing with the CA."""
    path = tmp_path / "file"
    path.touch()
    flags: dict[str, Any] = {"requestheader_allowed_names": ("a",), "requestheader_uid_headers": ("X-Uid",)}
    for more in ({}, {"kubeconfig": str(path)}, {"requestheader_client_ca_file": str(path)}):
        read_options(flags | more).authentication.log_warnings()

    ignored = "--requestheader-allowed-names,--requestheader-uid-headers"
    assert [(line["flags"], line["instead"]) for line in logged(caplog)] == [
        (ignored, "no front proxy is accepted"),
        (ignored, "those of the ConfigMap extension-apiserver-authentication count"),
    ]
