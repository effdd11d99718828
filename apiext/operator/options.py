"""Options of `apiext operate`."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from apiext.base.meta.flags import FlagReader, OptionsError
from apiext.base.meta.selector_parser import parse_label_selector
from apiext.base.meta.selectors import LabelSelector
from apiext.operator.ca_bundle import read_ca_bundle
from apiext.operator.names import NamespacedName
from apiext.storage.etcd.config import EtcdConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTiming:
    """LeaseDuration, RenewDeadline and RetryPeriod of client-go, in seconds."""

    lease: float = 15.0
    renew: float = 10.0
    retry: float = 2.0


class BindAddress(NamedTuple):
    """Address to listen on."""

    host: str
    """An IP address."""
    port: int
    """0 selects a free one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorOptions:
    """The validated options."""

    kubeconfig: Path | None
    """None for the service account of the pod."""
    selector: LabelSelector
    service: NamespacedName
    port: int
    server: str
    ca_file: Path | None
    serving_secret: NamespacedName | None
    manage_serving_secret: bool
    namespace: str
    leader_elect: bool
    timing: LeaseTiming
    host_etcd: EtcdConfig | None
    """The host's etcd, for hand-overs."""
    host_encryption: Path | None = None
    """The host's EncryptionConfiguration; None if it does not encrypt the groups."""
    metrics_address: BindAddress | None = None
    """Address of the probes and metrics, None without them."""
    verbosity: int = 0


def read_options(flags: Mapping[str, Any]) -> OperatorOptions:
    """Return the options for the flags of the command line. Raises OptionsError with all problems."""
    reader = ClusterFlagReader(flags)
    service = reader.named("service") or NamespacedName("", "")
    port = reader.number("service_port", 443, least=1, most=65535)
    options = OperatorOptions(
        kubeconfig=reader.file("kubeconfig"),
        selector=_selector(reader),
        service=service,
        port=port,
        server=_server(reader) or f"https://{service.host}:{port}",
        ca_file=reader.file("ca_file"),
        serving_secret=reader.named("serving_secret"),
        manage_serving_secret=bool(reader.value("manage_serving_secret")),
        namespace=reader.text("namespace"),
        leader_elect=bool(reader.value("leader_elect")),
        timing=read_timing(reader),
        host_etcd=_host_etcd(reader),
        host_encryption=reader.file("host_encryption_provider_config"),
        metrics_address=_metrics_address(reader),
        verbosity=reader.number("v", 0),
    )
    _check(reader, options)
    if reader.problems:
        raise OptionsError(reader.problems)
    return options


class ClusterFlagReader(FlagReader):
    """Reads flags about objects of a cluster."""

    def named(self, name: str) -> NamespacedName | None:
        """Return the name of an object as NAMESPACE/NAME; None if the flag was not given, or is malformed."""
        text = self.text(name)
        if not text:
            return None
        namespace, _, rest = text.partition("/")
        if not namespace or not rest or "/" in rest:
            self.add_problem(name, f"{text!r} is not NAMESPACE/NAME")
            return None
        return NamespacedName(namespace, rest)


def _check(reader: ClusterFlagReader, options: OperatorOptions) -> None:
    if not reader.value("service"):
        reader.add_problem("service", "it must say where the host finds apiext, as NAMESPACE/NAME")
    if options.ca_file and options.serving_secret:
        reader.add_problem("ca_file", "--serving-secret says the same; give one of them")
    elif options.ca_file and not any(problem.startswith("--ca-file") for problem in reader.problems):
        try:
            read_ca_bundle(options.ca_file)
        except (OSError, ValueError) as error:
            reader.add_problem("ca_file", f"{options.ca_file}: {error}")
    if options.host_encryption and not reader.value("host_etcd_servers"):
        reader.add_problem("host_encryption_provider_config", "needs --host-etcd-servers too")
    if options.manage_serving_secret and not options.serving_secret:
        reader.add_problem("manage_serving_secret", "needs --serving-secret")


def _selector(reader: ClusterFlagReader) -> LabelSelector:
    try:
        return parse_label_selector(reader.text("crd_selector"))
    except ValueError as error:
        reader.add_problem("crd_selector", str(error))
        return LabelSelector()


def _server(reader: ClusterFlagReader) -> str:
    text = reader.text("server").rstrip("/")
    if text and (urlsplit(text).scheme != "https" or not urlsplit(text).hostname):
        reader.add_problem("server", f"{text!r} is not an https:// URL")
    return text


def _metrics_address(reader: ClusterFlagReader) -> BindAddress | None:
    text = reader.text("metrics_bind_address")
    if not text:
        return None
    host, _, port = text.rpartition(":")
    try:
        address = str(ipaddress.ip_address(host.removeprefix("[").removesuffix("]")))
        if not port.isdecimal() or int(port) > 65535:
            raise ValueError
    except ValueError:
        reader.add_problem("metrics_bind_address", f"{text!r} is not IP:PORT")
        return None
    return BindAddress(address, int(port))


def read_timing(reader: FlagReader) -> LeaseTiming:
    """Return the timing of the flags --leader-elect-*."""
    timing = LeaseTiming(
        lease=reader.seconds("leader_elect_lease_duration", 1.0),
        renew=reader.seconds("leader_elect_renew_deadline", 1.0),
        retry=reader.seconds("leader_elect_retry_period", 1.0),
    )
    if timing.lease < 1 or timing.renew >= timing.lease:
        reader.add_problem("leader_elect_lease_duration", "it must be a second at least, and more than --leader-elect-renew-deadline")
    if not 0 < timing.retry < timing.renew:
        reader.add_problem("leader_elect_retry_period", "it must be more than 0s, and less than --leader-elect-renew-deadline")
    return timing


def _host_etcd(reader: ClusterFlagReader) -> EtcdConfig | None:
    servers = tuple(part for part in map(str.strip, reader.text("host_etcd_servers").split(",")) if part)
    for one in servers:
        parts = urlsplit(one)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            reader.add_problem("host_etcd_servers", f"{one!r} is not http://host:port or https://host:port")
    cafile, certfile, keyfile = (reader.file(f"host_etcd_{part}") for part in ("cafile", "certfile", "keyfile"))
    reader.require_both("host_etcd_certfile", "host_etcd_keyfile")
    if not servers:
        return None
    return EtcdConfig(servers=servers, prefix=reader.text("host_etcd_prefix"), cafile=cafile, certfile=certfile, keyfile=keyfile)
