"""What `apiext operate` is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from apiext.meta.flags import FlagReader, OptionsError
from apiext.meta.selectors import LabelSelector, parse_label_selector
from apiext.operator.api_clients import HostEtcd
from apiext.operator.ca_bundle import read_authorities
from apiext.operator.leader_election.lease import Timing


@dataclass(frozen=True, slots=True)
class Named:
    """An object of a namespace."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """All options, in a form that can be used."""

    kubeconfig: Path | None
    """None for the cluster that the process runs in."""
    selector: LabelSelector
    service: Named
    port: int
    server: str
    ca_file: Path | None
    serving_secret: Named | None
    manage_serving_secret: bool
    namespace: str
    leader_elect: bool
    timing: Timing
    host_etcd: HostEtcd | None
    verbosity: int = 0


def read_options(flags: Mapping[str, Any]) -> Options:
    """Read the flags as the command line has them. Raises OptionsError with all that is wrong."""
    reader = _Reader(flags)
    service = reader.named("service") or Named("", "")
    port = reader.number("service_port", 443, least=1, most=65535)
    options = Options(
        kubeconfig=reader.file("kubeconfig"),
        selector=_selector(reader),
        service=service,
        port=port,
        server=_server(reader) or f"https://{service.name}.{service.namespace}.svc:{port}",
        ca_file=reader.file("ca_file"),
        serving_secret=reader.named("serving_secret"),
        manage_serving_secret=bool(reader.given("manage_serving_secret")),
        namespace=reader.text("namespace"),
        leader_elect=bool(reader.given("leader_elect")),
        timing=_timing(reader),
        host_etcd=_host_etcd(reader),
        verbosity=reader.number("v", 0),
    )
    _check(reader, options)
    if reader.problems:
        raise OptionsError(reader.problems)
    return options


class _Reader(FlagReader):
    """Knows files, and objects of a namespace, too."""

    def file(self, name: str) -> Path | None:
        path = self.path(name)
        if path is not None:
            try:
                path.open("rb").close()
            except OSError as error:
                self.wrong(name, f"{path}: {error.strerror}")
        return path

    def named(self, name: str) -> Named | None:
        text = self.text(name)
        if not text:
            return None
        namespace, _, rest = text.partition("/")
        if not namespace or not rest or "/" in rest:
            self.wrong(name, f"{text!r} is not NAMESPACE/NAME")
            return None
        return Named(namespace, rest)


def _check(reader: _Reader, options: Options) -> None:
    if not reader.given("service"):
        reader.wrong("service", "it must say where the host finds apiext, as NAMESPACE/NAME")
    if options.ca_file and options.serving_secret:
        reader.wrong("ca_file", "--serving-secret says the same; give one of them")
    elif options.ca_file and not any(problem.startswith("--ca-file") for problem in reader.problems):
        try:
            read_authorities(options.ca_file)
        except (OSError, ValueError) as error:
            reader.wrong("ca_file", f"{options.ca_file}: {error}")
    if options.manage_serving_secret and not options.serving_secret:
        reader.wrong("manage_serving_secret", "needs --serving-secret")


def _selector(reader: _Reader) -> LabelSelector:
    try:
        return parse_label_selector(reader.text("crd_selector"))
    except ValueError as error:
        reader.wrong("crd_selector", str(error))
        return LabelSelector()


def _server(reader: _Reader) -> str:
    text = reader.text("server").rstrip("/")
    if text and (urlsplit(text).scheme != "https" or not urlsplit(text).hostname):
        reader.wrong("server", f"{text!r} is not an https:// URL")
    return text


def _timing(reader: _Reader) -> Timing:
    timing = Timing(
        lease=reader.seconds("leader_elect_lease_duration", 1.0),
        renew=reader.seconds("leader_elect_renew_deadline", 1.0),
        retry=reader.seconds("leader_elect_retry_period", 1.0),
    )
    if timing.lease < 1 or timing.renew >= timing.lease:
        reader.wrong("leader_elect_lease_duration", "it must be a second at least, and more than --leader-elect-renew-deadline")
    if not 0 < timing.retry < timing.renew:
        reader.wrong("leader_elect_retry_period", "it must be more than 0s, and less than --leader-elect-renew-deadline")
    return timing


def _host_etcd(reader: _Reader) -> HostEtcd | None:
    servers = tuple(part for part in map(str.strip, reader.text("host_etcd_servers").split(",")) if part)
    for one in servers:
        if not _is_url(one):
            reader.wrong("host_etcd_servers", f"{one!r} is not http://host:port or https://host:port")
    cafile, certfile, keyfile = (reader.file(f"host_etcd_{part}") for part in ("cafile", "certfile", "keyfile"))
    reader.both_or_none("host_etcd_certfile", "host_etcd_keyfile")
    if not servers:
        return None
    return HostEtcd(servers=servers, prefix=reader.text("host_etcd_prefix"), cafile=cafile, certfile=certfile, keyfile=keyfile)


def _is_url(text: str) -> bool:
    parts = urlsplit(text)
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
