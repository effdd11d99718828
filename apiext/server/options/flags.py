"""Converts flags to options, and reports all invalid flags at once."""

from __future__ import annotations

import ipaddress
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from apiext.api.authentication.request_header import RequestHeaders
from apiext.base.meta.flags import FlagReader, OptionsError
from apiext.base.meta.selector_parser import parse_label_selector
from apiext.base.webhook.host_addresses import parse_service_addresses
from apiext.server.options.admission_plugins import AdmissionPlugins
from apiext.server.options.audit import read_audit
from apiext.server.options.authorization_modes import FRONT_PROXY, MODES, RBAC, WEBHOOK
from apiext.server.options.feature_gates import DEFAULT_GATES, RANGE_STREAM_GATE, FeatureGates, parse_feature_gates
from apiext.server.options.options import (
    FAIR_LIMITS,
    REJECTING_LIMITS,
    AuthenticationOptions,
    AuthorizationOptions,
    Http2Options,
    KubeconfigSource,
    LimitOptions,
    NamedCertificateFiles,
    ServerOptions,
    ServiceAccountOptions,
    ServingOptions,
    StorageOptions,
)
from apiext.storage.etcd.config import EtcdConfig

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.base.webhook.host_addresses import ServiceAddresses

_TLS_VERSIONS: Final = ("VersionTLS12", "VersionTLS13")
_MAX_GOAWAY_CHANCE: Final = 0.02
"""The reference's."""
_MAX_STREAMS: Final = 10_000
_PROXY_FLAGS: Final = (
    "requestheader_allowed_names",
    "requestheader_username_headers",
    "requestheader_uid_headers",
    "requestheader_group_headers",
    "requestheader_extra_headers_prefix",
)
_KUBECONFIGS: Final = ("authentication_kubeconfig", "authorization_kubeconfig", "kubeconfig")


_MOST: Final = 64
_CGROUPS: Final = Path("/sys/fs/cgroup")
_OWN_CGROUP: Final = Path("/proc/self/cgroup")


def read_workers(reader: FlagReader, limits: LimitOptions) -> int:
    """Return the number of workers. `auto` is that of the usable processors, but at most one for each concurrent request; 1 on SQLite."""
    on_etcd = bool(reader.value("etcd_servers"))
    seats = {"max_requests_inflight": limits.max_in_flight, "max_mutating_requests_inflight": limits.max_mutating_in_flight}
    if limits.priority_and_fairness:
        seats = {"max_requests_inflight": limits.max_in_flight + limits.max_mutating_in_flight}
    if reader.text("workers") == "auto":
        return min((usable_processors(), *filter(None, seats.values()))) if on_etcd else 1
    workers = reader.number("workers", 1, least=1, most=_MOST)
    if workers == 1:
        return 1
    if not on_etcd:
        reader.add_problem("workers", "needs --etcd-servers too: one process owns the embedded store, its log and its caches")
    for flag, number in seats.items():
        if 0 < number < workers:
            reader.add_problem("workers", f"{workers} workers cannot divide {number} concurrent requests (--{flag.replace('_', '-')})")
    return workers


def usable_processors(cgroups: Path = _CGROUPS, own_cgroup: Path = _OWN_CGROUP) -> int:
    """Return the number of whole processors that affinity and the limits of cgroups (v2 and v1) allow, at least 1, at most _MOST."""
    quotas = [int(quota) for folder in _folders(cgroups, own_cgroup) for quota in _quotas(folder)]
    return max(1, min(_MOST, len(os.sched_getaffinity(0)), *quotas))


def _quotas(folder: Path) -> list[float]:
    """Return the processors that a cgroup may use, empty without a limit."""
    found = []
    with suppress(OSError, ValueError):
        quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
        found.append(float(quota) / float(period))
    with suppress(OSError, ValueError):
        quota, period = ((folder / f"cpu.cfs_{part}_us").read_text(encoding="ascii") for part in ("quota", "period"))
        if float(quota) > 0:
            found.append(float(quota) / float(period))
    return found


def _folders(cgroups: Path, own_cgroup: Path) -> list[Path]:
    """Return the folders of the process's cgroup and of those around it. In a container the outermost one is the container's."""
    found = []
    with suppress(OSError):
        for line in own_cgroup.read_text(encoding="utf-8", errors="replace").splitlines():
            _, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            if controllers and "cpu" not in controllers.split(","):
                continue
            root = cgroups / "cpu" if controllers else cgroups
            own = root / path.lstrip("/")
            found += [own, *(parent for parent in own.parents if parent.is_relative_to(root))]
    return found


def default_data_dir() -> Path:
    """Return the directory `apiext` of the user's data directory (XDG_DATA_HOME)."""
    base = os.environ.get("XDG_DATA_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "share") / "apiext"


def _shown(value: Any) -> str:
    """Return the value of a flag as Go prints it; empty without one."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{','.join(map(str, value))}]"
    return "" if value is None else str(value)


def read_options(flags: Mapping[str, Any]) -> ServerOptions:
    """Return the options of flag values by name, with underscores for dashes. None means that the flag is not set.

    Raises:
        OptionsError: a flag is invalid. The error has a line for each invalid flag.
    """
    reader = FlagReader(flags)
    gates, limits = _feature_gates(reader), _limits(reader)
    options = ServerOptions(
        serving=_serving(reader),
        storage=read_storage(reader, gates),
        authentication=_authentication(reader),
        authorization=_authorization(reader),
        limits=limits,
        crd_dir=_folder(reader, "crd_dir"),
        watches_crd_dir=reader.flag("watch_crd_dir", default=True),
        crd_selector=_crd_selector(reader),
        guard_stored_versions=reader.flag("guard_stored_versions", default=False),
        builtin_kinds=_builtin_kinds(reader),
        host=_host(reader),
        collects_garbage=reader.flag("garbage_collection", default=True),
        service_addresses=_service_addresses(reader),
        migrates=_migrates(reader),
        feature_gates=gates,
        admission_plugins=_admission_plugins(reader),
        admission_config_file=reader.file("admission_control_config_file"),
        cors_origins=_patterns(reader, "cors_allowed_origins"),
        hsts_directives=reader.names("strict_transport_security_directives"),
        verbosity=reader.number("v", 0),
        exits_with_parent=reader.flag("exit_with_parent", default=False),
        workers=read_workers(reader, limits),
        tracing_config_file=reader.file("tracing_config_file"),
        audit=read_audit(reader),
        flags={name.replace("_", "-"): _shown(value) for name, value in flags.items()},
    )
    if reader.problems:
        raise OptionsError(reader.problems)
    return options


def _folder(reader: FlagReader, name: str) -> Path | None:
    path = reader.path(name)
    if path is not None:
        try:
            os.scandir(path).close()
        except OSError as error:
            reader.add_problem(name, f"{path}: {error.strerror}")
    return path


def _data_dir(reader: FlagReader) -> Path:
    return reader.path("data_dir") or default_data_dir()


def _serving(reader: FlagReader) -> ServingOptions:
    reader.require_both("tls_cert_file", "tls_private_key_file")
    address = reader.text("bind_address", "127.0.0.1")
    try:
        ipaddress.ip_address(address)
    except ValueError:
        reader.add_problem("bind_address", f"{address!r} is not an IP address")
    version = reader.text("tls_min_version", _TLS_VERSIONS[0])
    if version not in _TLS_VERSIONS:
        reader.add_problem("tls_min_version", f"{version!r} is not one of {', '.join(_TLS_VERSIONS)}")
    return ServingOptions(
        bind_address=address,
        port=reader.number("secure_port", 6443, most=65535),
        cert_dir=reader.path("cert_dir") or _data_dir(reader) / "pki",
        cert_file=reader.file("tls_cert_file"),
        key_file=reader.file("tls_private_key_file"),
        named=_named(reader, "tls_sni_cert_key"),
        min_tls_version=version,
        http2=_http2(reader),
    )


def _http2(reader: FlagReader) -> Http2Options | None:
    """Return how HTTP/2 is served. With several workers it is not: the few connections of a front proxy would keep few of them busy."""
    chance = reader.fraction("goaway_chance", 0.0, most=_MAX_GOAWAY_CHANCE)
    options = Http2Options(reader.number("http2_max_streams_per_connection", 0, most=_MAX_STREAMS), chance)
    is_disabled = reader.flag("disable_http2_serving", default=reader.text("workers", "1") != "1")
    return None if is_disabled else options


def _named(reader: FlagReader, flag: str) -> tuple[NamedCertificateFiles, ...]:
    """Parse certificates of the form cert,key or cert,key:name,name."""
    found = []
    for text in reader.value(flag) or ():
        files, colon, names = map(str.strip, text.partition(":"))
        paths = [Path(path.strip()).expanduser().absolute() for path in files.split(",")]
        if colon and not names:
            reader.add_problem(flag, f"{text!r}: empty names list is not allowed")
        elif len(paths) != 2:
            reader.add_problem(flag, f"{text!r}: expected comma separated certificate and key file paths")
        elif len([path for path in paths if reader.can_read(flag, path)]) == 2:
            found.append(NamedCertificateFiles(paths[0], paths[1], tuple(name.strip() for name in names.split(",")) if names else ()))
    return tuple(found)


def read_storage(reader: FlagReader, gates: FeatureGates = DEFAULT_GATES) -> StorageOptions:
    """Return the options of the store."""
    servers = reader.names("etcd_servers")
    for server in servers:
        _check_url(reader, server)
    reader.require_both("etcd_certfile", "etcd_keyfile")
    for name in ("etcd_cafile", "etcd_certfile", "etcd_keyfile"):
        if reader.value(name) and not servers:
            reader.add_problem(name, "needs --etcd-servers too")
    # the reference joins the prefix to the root
    prefix = "/" + reader.text("etcd_prefix", "/registry").strip("/")
    if prefix == "/":
        reader.add_problem("etcd_prefix", "must not be empty")
    cafile, certfile, keyfile = (reader.file(f"etcd_{part}") for part in ("cafile", "certfile", "keyfile"))
    encryption, reload = reader.file("encryption_provider_config"), "encryption_provider_config_automatic_reload"
    if reader.flag(reload, default=False) and not reader.value("encryption_provider_config"):
        reader.add_problem(reload, "needs --encryption-provider-config too")
    etcd = EtcdConfig(
        servers=servers,
        prefix=prefix,
        cafile=cafile,
        certfile=certfile,
        keyfile=keyfile,
        range_stream=gates.enabled(RANGE_STREAM_GATE),
    )
    return StorageOptions(
        data_dir=_data_dir(reader),
        etcd=etcd if servers else None,
        prefix=prefix,
        compaction_interval=reader.seconds("etcd_compaction_interval", 300.0),
        watch_cache=reader.flag("watch_cache", default=True),
        encryption_file=encryption,
        encryption_reload=reader.flag(reload, default=False),
    )


def _check_url(reader: FlagReader, server: str) -> None:
    try:
        parts = urlsplit(server)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        reader.add_problem("etcd_servers", f"{server!r} is not a URL such as http://127.0.0.1:2379")


def _authentication(reader: FlagReader) -> AuthenticationOptions:
    defaults = AuthenticationOptions()
    headers = defaults.front_proxy_headers
    return AuthenticationOptions(
        delegate=_delegate(reader, "authentication_kubeconfig"),
        token_ttl=reader.seconds("authentication_token_webhook_cache_ttl", defaults.token_ttl),
        audiences=reader.names("api_audiences"),
        service_accounts=_service_accounts(reader),
        skip_lookup=reader.flag("authentication_skip_lookup", default=False),
        tolerate_lookup_failure=reader.flag("authentication_tolerate_lookup_failure", default=False),
        client_ca_file=reader.file("client_ca_file"),
        token_file=reader.file("token_auth_file"),
        anonymous=reader.flag("anonymous_auth", default=True),
        front_proxy_ca_file=reader.file("requestheader_client_ca_file"),
        front_proxy_names=reader.names("requestheader_allowed_names"),
        front_proxy_headers=RequestHeaders(
            username=reader.names("requestheader_username_headers", headers.username),
            uid=reader.names("requestheader_uid_headers", headers.uid),
            group=reader.names("requestheader_group_headers", headers.group),
            extra_prefixes=reader.names("requestheader_extra_headers_prefix", headers.extra_prefixes),
        ),
        ignored_flags=_without_proxy_ca(reader),
    )


def _without_proxy_ca(reader: FlagReader) -> tuple[str, ...]:
    """Return the given flags about front proxies if their CA is not given: as in the reference, they come with the CA from one source."""
    if reader.value("requestheader_client_ca_file"):
        return ()
    return tuple(f"--{flag.replace('_', '-')}" for flag in _PROXY_FLAGS if reader.value(flag))


def _delegate(reader: FlagReader, name: str) -> KubeconfigSource | None:
    """Return the kubeconfig of the flag or of --kubeconfig. With mode Webhook and no kubeconfig, return the pod's service account."""
    for flag in (name, "kubeconfig"):
        path = reader.file(flag)
        if path is not None:
            return KubeconfigSource(f"--{flag.replace('_', '-')}", path)
    from apiext.base.webhook.clientcmd.service_account import in_cluster

    named = any(reader.value(flag) for flag in _KUBECONFIGS)
    if named or WEBHOOK not in reader.names("authorization_mode") or not in_cluster():
        return None
    return KubeconfigSource("the pod's service account")


def _service_accounts(reader: FlagReader) -> ServiceAccountOptions:
    defaults = ServiceAccountOptions()
    flag = "service_account_key_file"
    files = [Path(name).expanduser().absolute() for name in reader.names(flag)]
    signing = reader.file("service_account_signing_key_file")
    if files and signing is None:
        reader.add_problem(flag, "needs --service-account-signing-key-file too")
    return ServiceAccountOptions(
        issuers=reader.names("service_account_issuer", defaults.issuers),
        key_files=tuple(path for path in files if reader.can_read(flag, path)),
        signing_key_file=signing,
    )


def _authorization(reader: FlagReader) -> AuthorizationOptions:
    defaults = AuthorizationOptions()
    # with a kubeconfig, the default mode is not AlwaysAllow
    named = any(reader.value(flag) for flag in _KUBECONFIGS)
    modes = reader.names("authorization_mode", (WEBHOOK,) if named else defaults.modes)
    _check_modes(reader, modes)
    delegate = _delegate(reader, "authorization_kubeconfig")
    if WEBHOOK in modes and delegate is None:
        reader.add_problem("authorization_mode", "Webhook needs --authorization-kubeconfig too")
    # as in the reference, default roles allow the health endpoints
    paths = () if RBAC in modes else defaults.always_allow_paths
    return AuthorizationOptions(
        modes=modes,
        delegate=delegate,
        authorized_ttl=reader.seconds("authorization_webhook_cache_authorized_ttl", defaults.authorized_ttl),
        unauthorized_ttl=reader.seconds("authorization_webhook_cache_unauthorized_ttl", defaults.unauthorized_ttl),
        always_allow_paths=reader.names("authorization_always_allow_paths", paths),
    )


def _check_modes(reader: FlagReader, modes: Sequence[str]) -> None:
    flag = "authorization_mode"
    for mode in modes:
        if mode not in MODES:
            reader.add_problem(flag, f"{mode!r} is not one of {', '.join(MODES)}")
        elif modes.count(mode) > 1:
            reader.add_problem(flag, f"{mode!r} must not be given twice")
            break
    if FRONT_PROXY in modes and (modes[0] != FRONT_PROXY or len(modes) == 1):
        reader.add_problem(flag, "FrontProxy must be the first of several modes: the others decide on all that the host has not authorized")
    if RBAC in modes and reader.value("kubeconfig"):
        reader.add_problem(flag, "RBAC needs the roles of a standalone server, without --kubeconfig")


def _crd_selector(reader: FlagReader) -> str | None:
    selector: str | None = reader.value("crd_selector")
    try:
        parse_label_selector(selector or "")
    except ValueError as error:
        reader.add_problem("crd_selector", f"{selector!r} is not a label selector: {error}")
    return selector


def _host(reader: FlagReader) -> KubeconfigSource | None:
    """Return the host: the cluster of --kubeconfig, or the pod's cluster if it authorizes requests or supplies definitions."""
    delegate = _delegate(reader, "kubeconfig")
    if delegate is not None or reader.value("crd_selector") is None:
        return delegate
    from apiext.base.webhook.clientcmd.service_account import in_cluster

    if in_cluster():
        return KubeconfigSource("the pod's service account")
    reader.add_problem("crd_selector", "needs --kubeconfig too outside of a cluster's pod")
    return None


def _builtin_kinds(reader: FlagReader) -> bool:
    enabled = reader.flag("builtin_kinds", default=False)
    if enabled and (reader.value("kubeconfig") or reader.value("crd_selector") is not None):
        reader.add_problem("builtin_kinds", "is for standalone servers, without --kubeconfig and --crd-selector")
    return enabled


def _migrates(reader: FlagReader) -> bool:
    mode = reader.text("migrate", "manual")
    if mode not in {"manual", "auto"}:
        reader.add_problem("migrate", f"{mode!r} is not one of manual, auto")
    return mode == "auto"


def _limits(reader: FlagReader) -> LimitOptions:
    fair = reader.flag("enable_priority_and_fairness", default=True)
    default = FAIR_LIMITS if fair else REJECTING_LIMITS
    reading = reader.number("max_requests_inflight", default.reading)
    writing = reader.number("max_mutating_requests_inflight", default.writing)
    if fair and not reading + writing:
        reader.add_problem(
            "enable_priority_and_fairness", "--max-requests-inflight and --max-mutating-requests-inflight must not both be 0"
        )
    return LimitOptions(
        request_timeout=reader.seconds("request_timeout", 60.0, least=0.001),
        min_request_timeout=reader.number("min_request_timeout", 1800),
        priority_and_fairness=fair,
        max_in_flight=reading,
        max_mutating_in_flight=writing,
        event_ttl=reader.seconds("event_ttl", 3600.0),
        shutdown_delay=reader.seconds("shutdown_delay_duration", 0.0),
    )


def _service_addresses(reader: FlagReader) -> ServiceAddresses:
    """Return the addresses of Services; a value without "=" is a file of such values."""
    found: list[str] = []
    for value in reader.names("service_address"):
        if "=" in value:
            found.append(value)
        elif reader.can_read("service_address", Path(value)):
            found += Path(value).read_text(errors="replace").splitlines()
    try:
        return parse_service_addresses(found)
    except ValueError as error:
        reader.add_problem("service_address", str(error))
        return {}


def _feature_gates(reader: FlagReader) -> FeatureGates:
    try:
        return parse_feature_gates(reader.names("feature_gates"))
    except ValueError as error:
        reader.problems.append(str(error))
        return FeatureGates()


def _admission_plugins(reader: FlagReader) -> AdmissionPlugins:
    plugins = AdmissionPlugins(*(frozenset(reader.names(f"{which}_admission_plugins")) for which in ("enable", "disable")))
    reader.problems += plugins.problems()
    return plugins


def _patterns(reader: FlagReader, name: str) -> tuple[str, ...]:
    patterns = reader.names(name)
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            reader.add_problem(name, f"{pattern!r} is not a regular expression: {error}")
    return patterns
