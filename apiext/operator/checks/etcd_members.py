"""Asks the members of an etcd for what the checks of its upkeep need."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from apiext.base.cert.certificate import end_of_validity
from apiext.base.webhook.client import WebhookClient, WebhookError
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.storage.backend import BackendError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.storage.etcd.config import EtcdConfig
    from apiext.storage.etcd.maintenance import MemberStatus

_SECONDS: Final = 5.0

_QUOTA: Final = "etcd_server_quota_backend_bytes"
_COMPACTION: Final = "etcd_debugging_mvcc_db_compaction_last"
_SYNC: Final = "etcd_disk_wal_fsync_duration_seconds"
_COMMIT: Final = "etcd_disk_backend_commit_duration_seconds"
_PERCENTILE: Final = 0.99


@dataclass(frozen=True, slots=True)
class EtcdMetrics:
    """What a member says since its start; None for what it does not have."""

    quota: float | None
    """Bytes that the database may have."""
    compacted: float | None
    """Time of the last compaction in seconds since 1970; 0 without one since the start."""
    sync: float | None
    """Seconds within which 99 % of the log's syncs end."""
    commit: float | None
    """Seconds within which 99 % of the commits end."""


def parse_metrics(text: str) -> EtcdMetrics:
    """Return the metrics in Prometheus's text format.

    Raises:
        ValueError: the text has another format.
    """
    from prometheus_client.parser import text_string_to_metric_families

    values: dict[str, float] = {}
    buckets: dict[str, list[tuple[float, float]]] = {_SYNC: [], _COMMIT: []}
    for family in text_string_to_metric_families(text):
        if family.name in (_QUOTA, _COMPACTION):
            values[family.name] = family.samples[0].value
        elif family.name in buckets:
            found = [(float(sample.labels["le"]), sample.value) for sample in family.samples if sample.name.endswith("_bucket")]
            buckets[family.name] = sorted(found)
    return EtcdMetrics(values.get(_QUOTA), values.get(_COMPACTION), _percentile(buckets[_SYNC]), _percentile(buckets[_COMMIT]))


def _percentile(buckets: list[tuple[float, float]]) -> float | None:
    """Return the bound of the bucket that reaches the percentile; None without a measurement."""
    if not buckets or not buckets[-1][1]:
        return None
    return next(bound for bound, count in buckets if count >= buckets[-1][1] * _PERCENTILE)


@dataclass(slots=True)
class EtcdEndpoint:
    """What one endpoint answered."""

    url: str
    status: MemberStatus | None = None
    problem: str = ""
    """Why there is no status."""
    metrics: EtcdMetrics | None = None
    certificate_end: datetime | None = None
    """None without TLS."""


@dataclass(slots=True)
class EtcdState:
    """The state of an etcd."""

    endpoints: Sequence[EtcdEndpoint]
    members: Sequence[str] = ()
    """Names of all members, learners included; empty if no endpoint answers."""
    voters: int = 0
    alarms: Sequence[tuple[str, str]] = field(default_factory=tuple)
    """The member's name and the kind of each alarm."""
    client_certificate_end: datetime | None = None


async def ask_etcd(config: EtcdConfig) -> EtcdState:
    """Ask all endpoints at once; those that do not answer have a problem.

    Raises:
        BackendError: an address is malformed or a certificate cannot be read.
    """
    endpoints = await asyncio.gather(*(_ask(replace(config, servers=(url,))) for url in config.servers))
    state = EtcdState(endpoints)
    if config.certfile is not None:
        state.client_certificate_end = end_of_validity(config.certfile.read_text())
    answering = tuple(one.url for one in endpoints if one.status is not None)
    if answering:
        await _ask_cluster(replace(config, servers=answering), state)
    return state


async def _ask_cluster(config: EtcdConfig, state: EtcdState) -> None:
    from apiext.storage.etcd.maintenance import EtcdMaintenance

    maintenance = EtcdMaintenance(replace(config, connect_timeout=_SECONDS))
    try:
        members = await maintenance.members()
        names = {member.id: member.name or f"{member.id:x}" for member in members}
        state.members, state.voters = sorted(names.values()), sum(not member.is_learner for member in members)
        state.alarms = [(names.get(member, f"{member:x}"), kind) for member, kind in await maintenance.alarms()]
    except BackendError as error:
        # a member without a quorum knows its own state only
        state.endpoints[0].problem = state.endpoints[0].problem or str(error)
    finally:
        await maintenance.close()


async def _ask(config: EtcdConfig) -> EtcdEndpoint:
    # loads protobuf
    from apiext.storage.etcd.maintenance import EtcdMaintenance
    from apiext.storage.etcd.tls import TlsContextLoader

    (url,) = config.servers
    found = EtcdEndpoint(url)
    maintenance = EtcdMaintenance(replace(config, connect_timeout=_SECONDS))
    try:
        found.status = await maintenance.status()
    except BackendError as error:
        found.problem = str(error)
        return found
    finally:
        await maintenance.close()
    context: ssl.SSLContext | None = None
    if url.startswith("https://"):
        context = TlsContextLoader(config).load()
        context.set_alpn_protocols(["http/1.1"])
        found.certificate_end = await _certificate_end(url, context)
    found.metrics = await _metrics(url, context)
    return found


async def _metrics(url: str, context: ssl.SSLContext | None) -> EtcdMetrics | None:
    client = WebhookClient(
        Endpoint(url=url.rstrip("/") if "://" in url else f"http://{url}", context=context), timeout=_SECONDS, backoff=()
    )
    try:
        code, data = await client.ask("/metrics", headers={"Accept": "text/plain"})
        return parse_metrics(data.decode()) if code == 200 else None
    except (WebhookError, ValueError):
        return None
    finally:
        await client.close()


async def _certificate_end(url: str, context: ssl.SSLContext) -> datetime | None:
    parts = urlsplit(url)
    try:
        async with asyncio.timeout(_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port, ssl=context, server_hostname=parts.hostname)
    except (OSError, TimeoutError):
        return None
    try:
        data = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return end_of_validity(ssl.DER_cert_to_PEM_cert(data))
    finally:
        writer.close()
