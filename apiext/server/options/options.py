"""The validated options of a server.

Mirrors apiserver pkg/server/options; flags keep the reference's names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from apiext.api.authentication.request_header import RequestHeaders
from apiext.api.flowcontrol.seat_part import WHOLE, SeatPart
from apiext.base.meta.log import get_logger
from apiext.base.webhook.host_addresses import ServiceAddresses
from apiext.server.options.admission_plugins import AdmissionPlugins
from apiext.server.options.audit import AuditOptions
from apiext.server.options.feature_gates import FeatureGates
from apiext.storage.etcd.config import EtcdConfig

_LOG: Final = get_logger(__name__)


class RequestLimits(NamedTuple):
    """Concurrent requests."""

    reading: int
    writing: int


FAIR_LIMITS: Final = RequestLimits(100, 50)
"""The default with priority and fairness, which divides the sum. More seats do not increase the throughput of any kind of request: requests
then wait in the event loop instead of fair queues. With much fewer seats, the server idles while the store writes.
"""
REJECTING_LIMITS: Final = RequestLimits(400, 200)
"""The reference's defaults without priority and fairness: the server rejects further requests."""


@dataclass(frozen=True, slots=True)
class NamedCertificateFiles:
    """A certificate for the given server names, or else for the names in the certificate."""

    cert_file: Path
    key_file: Path
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Http2Options:
    """Connections of HTTP/2."""

    max_streams: int = 0
    """Requests at a time on a connection; 0: 100, or 1000 for front proxies."""
    goaway_chance: float = 0.0
    """The share of requests with which the client is asked to open another connection, maybe to another server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingOptions:
    """The listening address and the serving certificates."""

    cert_dir: Path
    bind_address: str = "127.0.0.1"
    port: int = 6443
    """0 selects a free port."""
    cert_file: Path | None = None
    key_file: Path | None = None
    named: tuple[NamedCertificateFiles, ...] = ()
    min_tls_version: str = "VersionTLS12"
    http2: Http2Options | None = Http2Options()
    """None to serve HTTP/1.1 only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageOptions:
    """The store: etcd or, without it, SQLite in the data directory."""

    data_dir: Path
    etcd: EtcdConfig | None = None
    prefix: str = "/registry"
    compaction_interval: float = 300.0
    """Seconds; 0 disables compaction."""
    watch_cache: bool = True
    encryption_file: Path | None = None
    """The EncryptionConfiguration; None to store values as they are."""
    encryption_reload: bool = False
    """Whether changes of that file apply while the server runs."""


@dataclass(frozen=True, slots=True)
class KubeconfigSource:
    """The address and credentials of another server."""

    flag: str
    """The flag or other origin of this source, for messages."""
    kubeconfig: Path | None = None
    """None for the service account of the server's pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccountOptions:
    """Tokens of service accounts."""

    issuers: tuple[str, ...] = ("https://kubernetes.default.svc.cluster.local",)
    """The first one issues tokens; those of all are valid."""
    key_files: tuple[Path, ...] = ()
    """Keys that verify tokens; empty for the signing key."""
    signing_key_file: Path | None = None
    """None for a key that the server creates in its directory of certificates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationOptions:
    """How clients authenticate. Without a client CA, and a cluster to read it from, the server creates a CA and an admin certificate."""

    delegate: KubeconfigSource | None = None
    """The server of TokenReviews and of the ConfigMap extension-apiserver-authentication."""
    token_ttl: float = 10.0
    """Seconds that TokenReview results are cached."""
    audiences: tuple[str, ...] = ()
    """Audiences of TokenReviews; empty for those of the reviewing server."""
    service_accounts: ServiceAccountOptions = ServiceAccountOptions()
    skip_lookup: bool = False
    """Whether to ignore the ConfigMap extension-apiserver-authentication."""
    tolerate_lookup_failure: bool = False
    """Whether to start if that ConfigMap cannot be read."""

    client_ca_file: Path | None = None
    token_file: Path | None = None
    anonymous: bool = True
    """Whether to accept anonymous requests. They reach only the health endpoints."""
    front_proxy_ca_file: Path | None = None
    front_proxy_names: tuple[str, ...] = ()
    front_proxy_headers: RequestHeaders = field(default=RequestHeaders(("x-remote-user",), (), ("x-remote-group",), ("x-remote-extra-",)))
    ignored_flags: tuple[str, ...] = ()
    """Given flags about front proxies that have no effect, because their CA is not given."""

    @property
    def own_audiences(self) -> tuple[str, ...]:
        """Return the audiences of this server: by default the issuers of its tokens."""
        return self.audiences or self.service_accounts.issuers

    @property
    def looks_up(self) -> bool:
        """Return whether the ConfigMap extension-apiserver-authentication supplies a missing CA."""
        missing = self.client_ca_file is None or self.front_proxy_ca_file is None
        return missing and self.delegate is not None and not self.skip_lookup

    def log_warnings(self) -> None:
        """Log flags that have no effect."""
        if self.ignored_flags:
            instead = "those of the ConfigMap extension-apiserver-authentication count" if self.looks_up else "no front proxy is accepted"
            _LOG.warning("flags are ignored without --requestheader-client-ca-file", flags=",".join(self.ignored_flags), instead=instead)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationOptions:
    """How requests are authorized. Times are in seconds."""

    modes: tuple[str, ...] = ("AlwaysAllow",)
    """In order: FrontProxy (allows what the host has authorized and proxies), AlwaysAllow (allows every authenticated user), RBAC (roles
    and bindings), Webhook (sends SubjectAccessReviews)."""
    delegate: KubeconfigSource | None = None
    """The server of SubjectAccessReviews."""
    authorized_ttl: float = 10.0
    """How long allowed decisions are cached."""
    unauthorized_ttl: float = 10.0
    """How long denied decisions are cached."""
    always_allow_paths: tuple[str, ...] = ("/healthz", "/livez", "/readyz")
    """Paths without authorization. The path of a single health check needs authorization, since it shows the reason of a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOptions:
    """Limits of requests. Times are in seconds."""

    request_timeout: float = 60.0
    min_request_timeout: int = 1800
    """The minimum duration of a watch without timeoutSeconds."""
    part: SeatPart = WHOLE
    """The part of a worker process. With priority and fairness it applies to the seats of each level, else to both limits."""
    priority_and_fairness: bool = True
    """Whether FlowSchemas and priority levels limit requests. Their seats are the sum of both limits."""
    max_in_flight: int = FAIR_LIMITS.reading
    """Concurrent read requests; 0 disables the limit."""
    max_mutating_in_flight: int = FAIR_LIMITS.writing
    """Concurrent write requests; 0 disables the limit."""
    event_ttl: float = 3600.0
    """How long events live after their last write; 0 keeps them."""
    shutdown_delay: float = 0.0
    """How long the server accepts connections after SIGTERM, with a failing readyz."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """All options of a server."""

    serving: ServingOptions
    storage: StorageOptions
    authentication: AuthenticationOptions = AuthenticationOptions()
    authorization: AuthorizationOptions = AuthorizationOptions()
    limits: LimitOptions = LimitOptions()
    crd_dir: Path | None = None
    watches_crd_dir: bool = True
    """Whether changes of that folder apply while the server runs."""
    crd_selector: str | None = None
    """Label selector of the host's definitions to serve; empty selects all, None none."""
    guard_stored_versions: bool = False
    """Whether versions with stored objects cannot be removed from definitions."""
    builtin_kinds: bool = False
    """Whether a standalone server has the other built-in kinds of kube-apiserver, too."""
    host: KubeconfigSource | None = None
    """The cluster whose namespaces, quotas and definitions apply; None for a standalone server."""
    collects_garbage: bool = True
    """Whether a standalone server deletes objects whose owners are gone."""
    service_addresses: ServiceAddresses = field(default_factory=dict)
    """Addresses of webhooks' Services; DNS resolves the others."""
    migrates: bool = False
    """Whether objects are rewritten in the background after a change of their storage version."""
    feature_gates: FeatureGates = field(default_factory=FeatureGates)
    admission_plugins: AdmissionPlugins = field(default_factory=AdmissionPlugins)
    admission_config_file: Path | None = None
    """The AdmissionConfiguration with the settings of plugins."""
    cors_origins: tuple[str, ...] = ()
    hsts_directives: tuple[str, ...] = ()
    verbosity: int = 0
    exits_with_parent: bool = False
    workers: int = 1
    """Processes that serve."""
    tracing_config_file: Path | None = None
    audit: AuditOptions = field(default_factory=AuditOptions)
    flags: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """The flags as they were given, by name."""
