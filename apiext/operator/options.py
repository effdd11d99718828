"""What `apiext operate` is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from apiext.meta import marks
from apiext.meta.duration import parse_duration
from apiext.meta.selectors import LabelSelector, parse_label_selector
from apiext.operator.authorities import read_authorities
from apiext.operator.clients import HostEtcd
from apiext.operator.lease import Timing

SELECTOR: Final = f"{marks.SERVE_LABEL}={marks.SERVE_VALUE}"


class OptionsError(Exception):
    """Flags that cannot be used; each problem is one line."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


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
    problems: list[str] = []
    service = _named(flags, "service", problems) or Named("", "")
    port = _number(flags, "service_port", problems, least=1, most=65535)
    options = Options(
        kubeconfig=_file(flags, "kubeconfig", problems),
        selector=_selector(flags, problems),
        service=service,
        port=port,
        server=_server(flags, problems) or f"https://{service.name}.{service.namespace}.svc:{port}",
        ca_file=_file(flags, "ca_file", problems),
        serving_secret=_named(flags, "serving_secret", problems),
        manage_serving_secret=bool(flags["manage_serving_secret"]),
        namespace=flags["namespace"],
        leader_elect=bool(flags["leader_elect"]),
        timing=_timing(flags, problems),
        host_etcd=_host_etcd(flags, problems),
        verbosity=_number(flags, "v", problems),
    )
    _check(flags, options, problems)
    if problems:
        raise OptionsError(problems)
    return options


def _check(flags: Mapping[str, Any], options: Options, problems: list[str]) -> None:
    if not flags.get("service"):
        problems.append("--service: it must say where the host finds apiext, as NAMESPACE/NAME")
    if options.ca_file and options.serving_secret:
        problems.append("--ca-file: --serving-secret says the same; give one of them")
    elif options.ca_file and not any(problem.startswith("--ca-file") for problem in problems):
        try:
            read_authorities(options.ca_file)
        except (OSError, ValueError) as error:
            problems.append(f"--ca-file: {options.ca_file}: {error}")
    if options.manage_serving_secret and not options.serving_secret:
        problems.append("--manage-serving-secret: needs --serving-secret")


def _named(flags: Mapping[str, Any], name: str, problems: list[str]) -> Named | None:
    text = flags.get(name)
    if not text:
        return None
    namespace, _, rest = text.partition("/")
    if not namespace or not rest or "/" in rest:
        problems.append(f"{_flag(name)}: {text!r} is not NAMESPACE/NAME")
        return None
    return Named(namespace, rest)


def _selector(flags: Mapping[str, Any], problems: list[str]) -> LabelSelector:
    try:
        return parse_label_selector(flags["crd_selector"])
    except ValueError as error:
        problems.append(f"--crd-selector: {error}")
        return LabelSelector()


def _server(flags: Mapping[str, Any], problems: list[str]) -> str:
    text = (flags.get("server") or "").rstrip("/")
    if text and (urlsplit(text).scheme != "https" or not urlsplit(text).hostname):
        problems.append(f"--server: {text!r} is not an https:// URL")
    return text


def _file(flags: Mapping[str, Any], name: str, problems: list[str]) -> Path | None:
    text = flags.get(name)
    if not text:
        return None
    path = Path(text).expanduser().absolute()
    try:
        path.open("rb").close()
    except OSError as error:
        problems.append(f"{_flag(name)}: {path}: {error.strerror}")
    return path


def _timing(flags: Mapping[str, Any], problems: list[str]) -> Timing:
    timing = Timing(
        lease=_seconds(flags, "leader_elect_lease_duration", problems),
        renew=_seconds(flags, "leader_elect_renew_deadline", problems),
        retry=_seconds(flags, "leader_elect_retry_period", problems),
    )
    if timing.lease < 1 or timing.renew >= timing.lease:
        problems.append("--leader-elect-lease-duration: it must be a second at least, and more than --leader-elect-renew-deadline")
    if not 0 < timing.retry < timing.renew:
        problems.append("--leader-elect-retry-period: it must be more than 0s, and less than --leader-elect-renew-deadline")
    return timing


def _host_etcd(flags: Mapping[str, Any], problems: list[str]) -> HostEtcd | None:
    servers = tuple(part for part in map(str.strip, (flags.get("host_etcd_servers") or "").split(",")) if part)
    problems += [f"--host-etcd-servers: {one!r} is not http://host:port or https://host:port" for one in servers if not _is_url(one)]
    cafile, certfile, keyfile = (_file(flags, f"host_etcd_{part}", problems) for part in ("cafile", "certfile", "keyfile"))
    if bool(certfile) != bool(keyfile):
        problems.append("--host-etcd-certfile and --host-etcd-keyfile: one needs the other")
    if not servers:
        return None
    return HostEtcd(servers=servers, prefix=flags["host_etcd_prefix"], cafile=cafile, certfile=certfile, keyfile=keyfile)


def _number(flags: Mapping[str, Any], name: str, problems: list[str], *, least: int = 0, most: int = 2**31) -> int:
    text = flags[name].removeprefix("=")
    if not text.isdecimal() or not least <= int(text) <= most:
        problems.append(f"{_flag(name)}: {text!r} is not a number from {least} to {most}")
        return least
    return int(text)


def _seconds(flags: Mapping[str, Any], name: str, problems: list[str]) -> float:
    try:
        return parse_duration(flags[name])
    except ValueError:
        problems.append(f"{_flag(name)}: {flags[name]!r} is not a duration such as 30s or 1m30s")
        return 1.0


def _is_url(text: str) -> bool:
    parts = urlsplit(text)
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
