"""Composition of audit: the policy and the outputs of events (apiserver pkg/server/options/audit.go, ApplyTo)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.api.audit.levels import AuditMode
from apiext.base.meta.log import get_logger
from apiext.server.start_error import StartError

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from prometheus_client.registry import Collector

    from apiext.api.audit.backend import AuditBackend, AuditStats, TruncateOptions
    from apiext.api.audit.log.output import LogOutput
    from apiext.api.audit.log.writer import LogWriter
    from apiext.api.filters.auditing import Auditing
    from apiext.server.options.audit import AuditLogOptions, AuditOptions, AuditWebhookOptions
    from apiext.server.routes.process_role import SharedLog

_LOG: Final = get_logger(__name__)
_TIMEOUT: Final = 30.0
"""Seconds of one attempt to send events."""


async def open_audit(options: AuditOptions, stack: AsyncExitStack, shared_log: SharedLog | None = None) -> Auditing | None:
    """Return the policy with its outputs, None without either; `stack` stores and sends what is buffered, and closes the outputs.

    `shared_log` is for several processes that write one log.

    Raises:
        StartError: the policy is invalid, the log cannot be written, or the kubeconfig of the webhook is invalid.
    """
    if options == type(options)():
        return None
    # few servers audit
    from apiext.api.audit.backend import AuditStats
    from apiext.api.audit.policy_file import PolicyFileError, load_policy

    policy = None
    if options.policy_file is not None:
        try:
            policy = load_policy(options.policy_file)
        except PolicyFileError as error:
            raise StartError(f"loading audit policy file: {error}") from error
    output = _log_output(options.log, shared_log) if options.log is not None else None
    if policy is None:
        _LOG.warning("no --audit-policy-file, so no audit events are recorded")
        return None
    stats = AuditStats()
    # the webhook first: an invalid kubeconfig leaves no thread of the log behind
    backends: list[AuditBackend] = [_webhook(options.webhook, stats, stack)] if options.webhook is not None else []
    writer = None
    if options.log is not None and output is not None:
        writer = _writer(options.log, output, stats)
        backends.append(_log(options.log, writer, stats))
    if not backends:
        return None
    from apiext.api.audit.backend import UnionBackend
    from apiext.api.filters.auditing import Auditing

    backend = backends[0] if len(backends) == 1 else UnionBackend(backends)
    stack.push_async_callback(backend.close)
    return Auditing(policy, backend, stats, log=writer if _takes_reads(backend) else None)


def audit_collectors(auditing: Auditing | None) -> list[Collector]:
    """Return the collector of the metrics of audit, none without audit."""
    if auditing is None:
        return []
    from apiext.server.routes.audit_metrics import AuditMetrics

    return [AuditMetrics(auditing.stats)]


def _log_output(options: AuditLogOptions, shared: SharedLog | None) -> LogOutput:
    from apiext.api.audit.log.output import StandardOutput
    from apiext.api.audit.log.rotation import LogLocks, RotatedFile, RotationLimits

    locks = None
    if shared is not None:
        # few servers have several workers
        from apiext.api.audit.log.output import ProcessLock

        locks = LogLocks(*map(ProcessLock, shared))
    if options.path is None:
        return StandardOutput(lock=locks and locks.writing)
    limits = RotationLimits(max_size=options.max_size, max_age=options.max_age, max_backups=options.max_backups, compress=options.compress)
    try:
        return RotatedFile(options.path, limits, locks)
    except OSError as error:
        raise StartError(f"ensureLogFile: open {error.filename or options.path}: {(error.strerror or '').lower()}") from error


def _writer(options: AuditLogOptions, output: LogOutput, stats: AuditStats) -> LogWriter:
    from apiext.api.audit.log.writer import LogWriter

    if options.mode is AuditMode.BATCH:
        return LogWriter(output, stats, legacy=options.legacy, most=options.batch.buffer_size)
    return LogWriter(output, stats, legacy=options.legacy)


def _log(options: AuditLogOptions, writer: LogWriter, stats: AuditStats) -> AuditBackend:
    from apiext.api.audit.log.modes import BlockingLog, buffered_log

    stats.errors["log"] = 0
    if options.mode is AuditMode.BATCH:
        return _truncating(buffered_log(writer, options.batch, stats), options.truncate, stats)
    return _truncating(BlockingLog(writer, options.mode), options.truncate, stats)


def _takes_reads(backend: AuditBackend) -> bool:
    """Return whether the log is the only output, and reads need not wait for it (UsualReads)."""
    from apiext.api.audit.log.modes import BlockingLog

    return isinstance(backend, BlockingLog) and backend.takes_reads


def _webhook(options: AuditWebhookOptions, stats: AuditStats, stack: AsyncExitStack) -> AuditBackend:
    from apiext.api.audit.backend import BufferedBackend
    from apiext.api.audit.webhook_backend import BlockingWebhook, EventWebhook
    from apiext.base.webhook.client import WebhookClient
    from apiext.base.webhook.clientcmd import kubeconfig

    try:
        client = WebhookClient(kubeconfig.load(options.config_file), timeout=_TIMEOUT)
    except kubeconfig.KubeconfigError as error:
        raise StartError(f"initializing audit webhook: {error}") from error
    stack.push_async_callback(client.close)
    webhook = EventWebhook(client, stats, initial_backoff=options.initial_backoff)
    stats.errors["webhook"] = 0
    if options.mode is AuditMode.BATCH:
        return _truncating(BufferedBackend(webhook.send, options.batch, stats, concurrent=True), options.truncate, stats)
    return _truncating(BlockingWebhook(webhook, options.mode), options.truncate, stats)


def _truncating(backend: AuditBackend, options: TruncateOptions | None, stats: AuditStats) -> AuditBackend:
    if options is None:
        return backend
    from apiext.api.audit.backend import TruncatingBackend

    return TruncatingBackend(backend, options, stats)
