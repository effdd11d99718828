"""The settings of a server, checked as a whole.

Mirrors apiserver pkg/server/options; flags keep the reference's names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_PREFIX: Final = "/registry"


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """A certificate for those who ask for one of the names, or else of its own."""

    cert_file: Path
    key_file: Path
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingOptions:
    """Where the server listens, and with which certificate."""

    cert_dir: Path
    bind_address: str = "127.0.0.1"
    port: int = 6443
    """0 takes any free port."""
    cert_file: Path | None = None
    key_file: Path | None = None
    named: tuple[NamedFiles, ...] = ()
    min_tls_version: str = "VersionTLS12"


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageOptions:
    """Where objects are kept: in etcd where there are servers, else in SQLite in the data folder."""

    data_dir: Path
    etcd_servers: tuple[str, ...] = ()
    etcd_cafile: Path | None = None
    etcd_certfile: Path | None = None
    etcd_keyfile: Path | None = None
    prefix: str = DEFAULT_PREFIX
    compaction_interval: float = 300.0
    """Seconds; 0 never compacts."""
    watch_cache: bool = True


@dataclass(frozen=True, slots=True)
class Delegate:
    """Another server that is asked, and how to get in."""

    flag: str
    """What named it."""
    kubeconfig: Path | None = None
    """None for the cluster that the server's own pod runs in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationOptions:
    """Who is let in. Without a client CA, and a cluster to look it up in, the server makes one, and a client certificate of it."""

    delegate: Delegate | None = None
    """Who knows the tokens that the server does not know, and who its clients and front proxies are."""
    token_ttl: float = 10.0
    """Seconds for which is kept whose a token is."""
    audiences: tuple[str, ...] = ()
    """What tokens have to be meant for; empty for what the other server takes."""
    skip_lookup: bool = False
    """Whether the cluster is not asked for the authorities that no option names."""
    tolerate_lookup_failure: bool = False
    """Whether to start where it does not say."""

    client_ca_file: Path | None = None
    token_file: Path | None = None
    anonymous: bool = True
    """Anonymous requests reach the health endpoints and nothing else."""
    front_proxy_ca_file: Path | None = None
    front_proxy_names: tuple[str, ...] = ()
    username_headers: tuple[str, ...] = ("x-remote-user",)
    uid_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ("x-remote-group",)
    extra_header_prefixes: tuple[str, ...] = ("x-remote-extra-",)

    @property
    def looks_up(self) -> bool:
        """Whether the cluster is asked for what no option names."""
        missing = self.client_ca_file is None or self.front_proxy_ca_file is None
        return missing and self.delegate is not None and not self.skip_lookup


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationOptions:
    """Who may do what. Times are in seconds."""

    modes: tuple[str, ...] = ("AlwaysAllow",)
    """In the order in which they are asked: AlwaysAllow (whoever is authenticated may), Webhook (another server decides)."""
    delegate: Delegate | None = None
    """The server that decides."""
    authorized_ttl: float = 10.0
    """How long a decision to allow is kept."""
    unauthorized_ttl: float = 10.0
    always_allow_paths: tuple[str, ...] = ("/healthz", "/livez", "/readyz")
    """Paths that everybody reaches. A single check's own path tells why it fails, and is for those who are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOptions:
    """How much and how long. Times are in seconds."""

    request_timeout: float = 60.0
    min_request_timeout: int = 1800
    """Watches last at least so long, where the client does not say."""
    max_in_flight: int = 400
    max_mutating_in_flight: int = 200
    event_ttl: float = 3600.0
    """How long events are kept after they were last written; 0 for ever."""
    shutdown_delay: float = 0.0
    """From the first SIGTERM to the end of listening; readyz fails meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Everything."""

    serving: ServingOptions
    storage: StorageOptions
    authentication: AuthenticationOptions = AuthenticationOptions()
    authorization: AuthorizationOptions = AuthorizationOptions()
    limits: LimitOptions = LimitOptions()
    crd_dir: Path | None = None
    crd_selector: str | None = None
    """Labels of the definitions that are read from the host; empty for all of them, None for none."""
    host: Delegate | None = None
    """The cluster around the server, which has the namespaces, quotas and definitions; None where the server stands alone."""
    disabled_admission_plugins: frozenset[str] = frozenset()
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    cors_origins: tuple[str, ...] = ()
    hsts_directives: tuple[str, ...] = ()
    verbosity: int = 0
    tracing_config_file: Path | None = None
