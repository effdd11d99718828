"""Diagnosis of a group whose APIService is not available: the first check that fails."""

from __future__ import annotations

import time
from typing import Final

from apiext.operator.api_clients import host_endpoint
from apiext.operator.checks.connections import Connections
from apiext.operator.checks.sequence import GROUP_CHECKS, first_broken, run_checks
from apiext.operator.checks.snapshot import CheckTarget, Snapshot
from apiext.operator.options import OperatorOptions

_CACHE_SECONDS: Final = 20.0
"""Time for which a diagnosis of a group is reused."""


class Diagnosis:
    """Runs the checks of `apiext doctor`, and caches the result for each group."""

    def __init__(self, options: OperatorOptions) -> None:
        self._options = options
        self._connections = Connections(lambda: host_endpoint(options))
        self._found: dict[str, tuple[float, str]] = {}

    async def diagnose(self, group: str, authority: str) -> str:
        """Return the first failed check with its remedy, empty if all pass; `authority` is the CA bundle of apiext in PEM."""
        moment, text = self._found.get(group, (-_CACHE_SECONDS, ""))
        if time.monotonic() < moment + _CACHE_SECONDS:
            return text
        target = CheckTarget(
            selector=self._options.selector.text,
            service=self._options.service,
            port=self._options.port,
            server=self._options.server,
            authority=authority,
        )
        broken = first_broken(await run_checks(Snapshot(target, self._connections), GROUP_CHECKS, group))
        text = str(broken) if broken else ""
        self._found[group] = time.monotonic(), text
        return text

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()
