"""Reloads the encryption when its file changes (apiserver pkg/server/options/encryptionconfig/controller)."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from apiext.base.meta.configuration import ConfigurationError
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.backoff import Backoff
from apiext.base.scheduling.tasks import end_tasks
from apiext.storage.value.configuration import digest, read_encryption_configuration, read_file
from apiext.storage.value.encryption import kms_providers
from apiext.storage.value.transforming_backend import open_plugins

if TYPE_CHECKING:
    from pathlib import Path

    from apiext.storage.value.encryption import Encryption
    from apiext.storage.value.kms.plugins import Plugins

POLL_SECONDS: Final = 10.0
"""Interval of looks at the file. The reference's is a minute."""
LEAST_HEALTH_SECONDS: Final = 10.0
"""Seconds that new plugins have to become healthy."""
_HEALTH_INTERVAL_SECONDS: Final = 0.1
_MIN_RETRY_SECONDS: Final = 0.5
_MAX_RETRY_SECONDS: Final = 60.0

_LOG: Final = get_logger(__name__)


class EncryptionReloader:
    """Looks at a file, and replaces the providers of an encryption by those of a changed file once its plugins are healthy.

    An invalid file, and one whose plugins do not answer, leaves the encryption as it is, and is tried again.
    """

    def __init__(self, path: Path, encryption: Encryption, *, poll_seconds: float = POLL_SECONDS) -> None:
        self._path = path
        self._encryption = encryption
        self._poll_seconds = poll_seconds
        self._task: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        # a counter that begins with 0 can be seen to increase
        self.counts = {"success": 0, "failure": 0}
        """Reloads by status: success or failure."""
        self.times: dict[str, float] = {}
        """Times of the last reloads by status, in seconds since the epoch."""

    def start(self) -> None:
        """Look at the file from now on."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Stop."""
        tasks = [task for task in (self._task, *self._closing) if task is not None]
        await end_tasks(*tasks)

    async def _run(self) -> None:
        backoff = Backoff(_MIN_RETRY_SECONDS, _MAX_RETRY_SECONDS)
        while True:
            await asyncio.sleep(self._poll_seconds)
            while not await self._try():
                await backoff.pause()
            backoff.reset()

    async def _try(self) -> bool:
        try:
            changed = await self.reload()
        except ConfigurationError as error:
            _LOG.error("invalid encryption configuration, retrying", file=str(self._path), error=str(error))
        except Exception:  # noqa: BLE001 - keep the present configuration, and look again
            _LOG.exception("reload of the encryption configuration failed, retrying", file=str(self._path))
        else:
            if changed:
                _LOG.info("encryption configuration reloaded", file=str(self._path), hash=self._encryption.configuration.digest)
                self._count("success")
            return True
        self._count("failure")
        return False

    def _count(self, status: str) -> None:
        self.counts[status] += 1
        self.times[status] = time.time()

    async def reload(self) -> bool:
        """Use the file if it has changed, and report whether it has.

        Raises:
            ConfigurationError: the file cannot be read or is invalid, or its plugins are not healthy in time.
        """
        if digest(read_file(self._path)) == self._encryption.configuration.digest:
            return False
        # the schema takes milliseconds
        configuration = await asyncio.to_thread(read_encryption_configuration, self._path, reload=True)
        plugins = await open_plugins(configuration, self._encryption.plugins)
        seconds = 2 * sum(provider.timeout for provider in kms_providers(self._encryption.configuration))
        try:
            if plugins is not None:
                await _until_healthy(plugins, max(LEAST_HEALTH_SECONDS, 2 * sum(one.timeout for one in kms_providers(configuration))))
            previous = self._encryption.replace(configuration, plugins)
        except BaseException:
            if plugins is not None:
                await plugins.close()
            raise
        if previous is not None:
            # calls under way end first
            task = asyncio.get_running_loop().create_task(_close_later(previous, seconds))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        return True


async def _until_healthy(plugins: Plugins, seconds: float) -> None:
    problems = await plugins.problems()
    try:
        async with asyncio.timeout(seconds):
            while problems:
                await asyncio.sleep(_HEALTH_INTERVAL_SECONDS)
                problems = await plugins.problems()
    except TimeoutError as error:
        raise ConfigurationError(f"health check for new transformers failed: {'; '.join(problems)}") from error


async def _close_later(plugins: Plugins, seconds: float) -> None:
    try:
        await asyncio.sleep(seconds)
    finally:
        await plugins.close()
