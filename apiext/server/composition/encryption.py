"""Composition of encryption at rest: reloads, health and metrics."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.server.routes.healthz import HealthCheck, UnhealthyError
from apiext.storage.replicas.identity_lease import server_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AsyncExitStack

    from prometheus_client.registry import Collector

    from apiext.server.options.options import StorageOptions
    from apiext.storage.value.encryption import Encryption

_NAME: Final = "kms-providers"


@dataclass(frozen=True, slots=True)
class EncryptionParts:
    """What a server with encryption has beside its backend."""

    checks: Sequence[HealthCheck] = ()
    collectors: Sequence[Collector] = ()


NO_ENCRYPTION: Final = EncryptionParts()


def open_encryption_parts(options: StorageOptions, encryption: Encryption | None, url: str, stack: AsyncExitStack) -> EncryptionParts:
    """Return the health check of KMS plugins and the metrics; reload the configuration until `stack` closes, if the options say so."""
    if encryption is None or options.encryption_file is None:
        return NO_ENCRYPTION
    from apiext.server.routes.encryption_metrics import EncryptionMetrics

    server = f"sha256:{hashlib.sha256(server_id(url).encode()).hexdigest()}"
    reloader = None
    if options.encryption_reload:
        from apiext.storage.value.reloading import EncryptionReloader

        reloader = EncryptionReloader(options.encryption_file, encryption)
        reloader.start()
        stack.push_async_callback(reloader.close)

    async def check() -> None:
        problems = await encryption.problems()
        if problems:
            raise UnhealthyError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    checks = [HealthCheck(_NAME, check)] if options.encryption_reload or encryption.plugins is not None else []
    return EncryptionParts(checks, [EncryptionMetrics(encryption, reloader, server)])
