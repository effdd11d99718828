"""Opening of audit."""

import threading
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from apiext.server.composition.audit import open_audit
from apiext.server.options.audit import AuditLogOptions, AuditOptions, AuditWebhookOptions
from apiext.server.start_error import StartError


async def test_invalid_webhook(tmp_path: Path) -> None:
    """Refuse an invalid kubeconfig, without the thread of the log."""
    policy, config = tmp_path / "policy.yaml", tmp_path / "config"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    config.write_text("{}")
    options = AuditOptions(
        policy_file=policy, log=AuditLogOptions(path=tmp_path / "audit.log"), webhook=AuditWebhookOptions(config_file=config)
    )
    before = set(threading.enumerate())
    async with AsyncExitStack() as stack:
        with pytest.raises(StartError, match="initializing audit webhook: "):
            await open_audit(options, stack)

    assert not [thread.name for thread in set(threading.enumerate()) - before if thread.name == "audit-log"]
