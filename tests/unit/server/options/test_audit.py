"""The flags of audit, and what is opened for them."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from apiext.api.audit.backend import BatchOptions, TruncateOptions
from apiext.api.audit.levels import AuditMode
from apiext.base.meta.flags import OptionsError
from apiext.server.composition.audit import open_audit
from apiext.server.options.audit import AuditOptions
from apiext.server.options.flags import read_options
from apiext.server.start_error import StartError

POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"


def test_defaults(tmp_path: Path) -> None:
    """Use the reference's defaults."""
    config = tmp_path / "config"
    config.touch()
    options = read_options({"audit_log_path": "-", "audit_webhook_config_file": str(config)}).audit
    assert options.log is not None
    assert options.webhook is not None

    assert (options.log.path, options.log.mode, options.log.legacy, options.log.truncate) == (None, AuditMode.BLOCKING, False, None)
    assert (options.log.max_age, options.log.max_backups, options.log.max_size) == (366, 100, 100)
    assert (options.webhook.mode, options.webhook.initial_backoff, options.webhook.batch) == (AuditMode.BATCH, 10.0, BatchOptions())
    assert read_options({}).audit == AuditOptions()


def test_values() -> None:
    """Read all values."""
    flags = {
        "audit_log_path": "/logs/audit.log",
        "audit_log_mode": "batch",
        "audit_log_format": "legacy",
        "audit_log_batch_buffer_size": "5",
        "audit_log_batch_max_size": "4",
        "audit_log_batch_max_wait": "3s",
        "audit_log_batch_throttle_enable": "true",
        "audit_log_batch_throttle_qps": "0.5",
        "audit_log_batch_throttle_burst": "2",
        "audit_log_truncate_enabled": "true",
        "audit_log_truncate_max_event_size": "10",
        "audit_log_truncate_max_batch_size": "20",
    }
    log = read_options(flags).audit.log
    assert log is not None

    assert (log.path, log.legacy, log.mode) == (Path("/logs/audit.log"), True, AuditMode.BATCH)
    assert log.batch == BatchOptions(buffer_size=5, max_size=4, max_wait=3.0, throttled=True, qps=0.5, burst=2)
    assert log.truncate == TruncateOptions(20, 10)


@pytest.mark.parametrize(
    "flags, problem",
    [
        ({"mode": "fast"}, "--audit-log-mode: 'fast' is not one of batch, blocking, blocking-strict"),
        ({"format": "xml"}, "--audit-log-format: 'xml' is not one of legacy, json"),
        ({"version": "v2"}, "--audit-log-version: 'v2' is not one of audit.k8s.io/v1"),
        ({"mode": "batch", "batch_throttle_qps": "0"}, "--audit-log-batch-throttle-qps: '0' is not a positive number"),
        ({"mode": "batch", "batch_throttle_qps": "x"}, "--audit-log-batch-throttle-qps: 'x' is not a positive number"),
        (
            {"truncate_max_batch_size": "1"},
            "--audit-log-truncate-max-batch-size: 1 is less than the maximum size of an event (102400)",
        ),
    ],
)
def test_problems(flags: dict[str, Any], problem: str) -> None:
    """Report invalid values."""
    with pytest.raises(OptionsError) as raised:
        read_options({"audit_log_path": "-", **{f"audit_log_{name}": value for name, value in flags.items()}})

    assert raised.value.problems == [problem]


async def test_start_errors(tmp_path: Path) -> None:
    """Refuse to start with an invalid policy, a log that cannot be written, or an invalid kubeconfig."""
    policy, config = tmp_path / "policy.yaml", tmp_path / "config"
    config.write_text("{")
    cases = [
        ({"audit_policy_file": str(policy)}, f'loading audit policy file: failed to read file path "{policy}"'),
        ({"audit_log_path": str(config / "x" / "log")}, f"ensureLogFile: open {config / 'x'}: not a directory"),
        ({"audit_policy_file": str(policy), "audit_webhook_config_file": str(config)}, "initializing audit webhook: "),
    ]
    for flags, message in cases:
        async with AsyncExitStack() as stack:
            with pytest.raises(StartError) as raised:
                await open_audit(read_options(flags).audit, stack)
            assert str(raised.value).startswith(message)
        policy.write_text(POLICY)


async def test_without_policy_or_output(tmp_path: Path) -> None:
    """Audit nothing without a policy or without an output."""
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text(POLICY)
    async with AsyncExitStack() as stack:
        for flags in ({}, {"audit_log_path": str(log)}, {"audit_policy_file": str(policy)}):
            assert await open_audit(read_options(flags).audit, stack) is None

    assert log.exists()


@pytest.mark.parametrize("mode", ["batch", "blocking", "blocking-strict"])
async def test_all_outputs(tmp_path: Path, mode: str) -> None:
    """Open the log and the webhook in every mode, and close them."""
    policy, config = tmp_path / "policy.yaml", tmp_path / "config"
    policy.write_text(POLICY)
    config.write_text(
        "{apiVersion: v1, kind: Config, clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}], "
        "contexts: [{name: a, context: {cluster: a}}], current-context: a}"
    )
    flags = {
        "audit_policy_file": str(policy),
        "audit_log_path": str(tmp_path / "audit.log"),
        "audit_log_mode": mode,
        "audit_webhook_config_file": str(config),
        "audit_webhook_mode": mode,
        "audit_webhook_truncate_enabled": "true",
    }
    async with AsyncExitStack() as stack:
        assert await open_audit(read_options(flags).audit, stack) is not None
