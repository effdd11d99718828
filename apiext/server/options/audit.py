"""The options of audit (apiserver pkg/server/options/audit.go)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from apiext.api.audit.backend import BatchOptions, TruncateOptions
from apiext.api.audit.levels import AuditMode

if TYPE_CHECKING:
    from pathlib import Path

    from apiext.base.meta.flags import FlagReader

_MODES: Final = tuple(mode.value for mode in AuditMode)
_FORMATS: Final = ("legacy", "json")
_VERSION: Final = "audit.k8s.io/v1"
LOG_BATCH: Final = BatchOptions(max_size=1, throttled=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLogOptions:
    """The log of events."""

    path: Path | None
    """None for standard output."""
    max_age: int = 366
    """Days that rotated files are kept; 0 keeps them."""
    max_backups: int = 100
    """Number of rotated files that are kept; 0 keeps all."""
    max_size: int = 100
    """Megabytes after which a file is rotated; 0 disables rotation."""
    compress: bool = False
    legacy: bool = False
    """Whether events are lines of text, not of JSON."""
    mode: AuditMode = AuditMode.BLOCKING
    batch: BatchOptions = LOG_BATCH
    truncate: TruncateOptions | None = None
    """None if large events are not truncated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditWebhookOptions:
    """The server that gets events."""

    config_file: Path
    initial_backoff: float = 10.0
    """Seconds between the first attempts to send events."""
    mode: AuditMode = AuditMode.BATCH
    batch: BatchOptions = field(default_factory=BatchOptions)
    truncate: TruncateOptions | None = None
    """None if large events are not truncated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """What is audited, and where events go. Without a policy nothing is audited."""

    policy_file: Path | None = None
    log: AuditLogOptions | None = None
    webhook: AuditWebhookOptions | None = None


def read_audit(reader: FlagReader) -> AuditOptions:
    """Return the options of the flags."""
    return AuditOptions(policy_file=reader.path("audit_policy_file"), log=_log(reader), webhook=_webhook(reader))


def _log(reader: FlagReader) -> AuditLogOptions | None:
    text = reader.text("audit_log_path")
    if not text:
        return None
    return AuditLogOptions(
        path=None if text == "-" else reader.path("audit_log_path"),
        max_age=reader.number("audit_log_maxage", 366),
        max_backups=reader.number("audit_log_maxbackup", 100),
        max_size=reader.number("audit_log_maxsize", 100),
        compress=reader.flag("audit_log_compress", default=False),
        legacy=_choice(reader, "audit_log_format", "json", _FORMATS) == "legacy",
        **_common(reader, "audit_log", AuditMode.BLOCKING, LOG_BATCH),
    )


def _webhook(reader: FlagReader) -> AuditWebhookOptions | None:
    path = reader.file("audit_webhook_config_file")
    if path is None:
        return None
    # the second flag is the reference's old name of the first one
    backoff = reader.seconds("audit_webhook_batch_initial_backoff", 10.0)
    return AuditWebhookOptions(
        config_file=path,
        initial_backoff=reader.seconds("audit_webhook_initial_backoff", backoff),
        **_common(reader, "audit_webhook", AuditMode.BATCH, BatchOptions()),
    )


def _common(reader: FlagReader, prefix: str, mode: AuditMode, batch: BatchOptions) -> dict[str, Any]:
    """Return the options that both outputs have."""
    _choice(reader, f"{prefix}_version", _VERSION, (_VERSION,))
    chosen = AuditMode(_choice(reader, f"{prefix}_mode", mode.value, _MODES))
    truncate = TruncateOptions()
    event_size = reader.number(f"{prefix}_truncate_max_event_size", truncate.max_event_size, least=1)
    batch_size = reader.number(f"{prefix}_truncate_max_batch_size", truncate.max_batch_size, least=1)
    if batch_size < event_size:
        reader.add_problem(f"{prefix}_truncate_max_batch_size", f"{batch_size} is less than the maximum size of an event ({event_size})")
    truncated = reader.flag(f"{prefix}_truncate_enabled", default=False)
    return {
        "mode": chosen,
        "batch": _batch(reader, f"{prefix}_batch", batch) if chosen is AuditMode.BATCH else batch,
        "truncate": TruncateOptions(batch_size, event_size) if truncated else None,
    }


def _batch(reader: FlagReader, prefix: str, defaults: BatchOptions) -> BatchOptions:
    throttled = reader.flag(f"{prefix}_throttle_enable", default=defaults.throttled)
    return BatchOptions(
        buffer_size=reader.number(f"{prefix}_buffer_size", defaults.buffer_size, least=1),
        max_size=reader.number(f"{prefix}_max_size", defaults.max_size, least=1),
        max_wait=reader.seconds(f"{prefix}_max_wait", defaults.max_wait),
        throttled=throttled,
        qps=_rate(reader, f"{prefix}_throttle_qps", defaults.qps),
        burst=reader.number(f"{prefix}_throttle_burst", defaults.burst, least=1),
    )


def _rate(reader: FlagReader, name: str, default: float) -> float:
    text = reader.text(name)
    try:
        rate = float(text) if text else default
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        reader.add_problem(name, f"{text!r} is not a positive number")
        return default
    return rate


def _choice(reader: FlagReader, name: str, default: str, known: tuple[str, ...]) -> str:
    text = reader.text(name) or default
    if text not in known:
        reader.add_problem(name, f"{text!r} is not one of {', '.join(known)}")
        return default
    return text
