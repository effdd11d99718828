"""/healthz, /livez and /readyz, each with its checks (apiserver pkg/server/healthz)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.base.meta.golang import formatting
from apiext.base.meta.log import get_logger

_LOG: Final = get_logger(__name__)
_TEXT: Final = "text/plain; charset=utf-8"


class UnhealthyError(Exception):
    """A failed check. The message goes to the log and to the path of the check."""


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """A named check. `probe` raises UnhealthyError on failure."""

    name: str
    probe: Callable[[], Awaitable[None]]
    remarks: Callable[[], Sequence[str]] = tuple
    """Remarks of a passed check: verbose output shows the first one, the path of the check shows all."""


class CachedProbe:
    """A probe whose result is cached for some seconds, so that health checks do not load an unavailable store; as the reference."""

    def __init__(self, probe: Callable[[], Awaitable[None]], seconds: float) -> None:
        self._probe = probe
        self._seconds = seconds
        self._until = 0.0
        self._error: UnhealthyError | None = None

    async def __call__(self) -> None:
        """Run the probe, or repeat its cached result.

        Raises:
            UnhealthyError: the probe failed.
        """
        if time.monotonic() >= self._until:
            try:
                await self._probe()
                self._error = None
            except UnhealthyError as error:
                self._error = error
            self._until = time.monotonic() + self._seconds
        if self._error is not None:
            raise UnhealthyError(str(self._error)) from self._error.__cause__


class HealthEndpoint:
    """A health endpoint: `/<name>` runs all checks, `/<name>/<check>` one of them."""

    def __init__(self, name: str, checks: Sequence[HealthCheck]) -> None:
        self.name = name
        self._checks = {check.name: check for check in checks}
        self.results: dict[str, bool] = {}
        """Whether each check passed when all were run last."""
        self.outcomes: Counter[tuple[str, str]] = Counter()
        """How often each check had which status, `success` or `error`, when all were run."""

    @property
    def checks(self) -> list[HealthCheck]:
        """Return the checks."""
        return list(self._checks.values())

    async def failures(self, excluded: Collection[str] = ()) -> dict[str, str]:
        """Run all checks but the excluded ones. Return the reasons of the failed ones by name."""
        found = {}
        for check in self._checks.values():
            try:
                if check.name not in excluded:
                    await check.probe()
            except UnhealthyError as error:
                found[check.name] = str(error)
        return found

    @property
    def paths(self) -> list[str]:
        """Return the paths that the endpoint answers."""
        return [f"/{self.name}", *(f"/{self.name}/{name}" for name in self._checks)]

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the result of all checks or of the named check, 404 for an unknown name."""
        name = request.path.removeprefix(f"/{self.name}")
        if not name:
            return await self._all(request)
        check = self._checks.get(name[1:])
        return await self._one(check) if check else text_reply("404 page not found", status=404)

    async def _all(self, request: web.BaseRequest) -> web.StreamResponse:
        excluded = frozenset(request.query.getall("exclude", ()))
        lines: list[str] = []
        failed: list[str] = []
        for check in self._checks.values():
            if check.name in excluded:
                lines.append(f"[+]{check.name} excluded: ok\n")
            elif await self._passes(check):
                remarks = check.remarks()
                remark = f": {remarks[0]}" if remarks else ""
                if len(remarks) > 1:
                    remark += f" (more: /{self.name}/{check.name})"
                lines.append(f"[+]{check.name} ok{remark}\n")
            else:
                lines.append(f"[-]{check.name} failed: reason withheld\n")
                failed.append(check.name)
        unknown = sorted(excluded - self._checks.keys())
        if unknown:
            names = ",".join(map(formatting.quote, unknown))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
        if failed:
            return text_reply(f"{''.join(lines)}{self.name} check failed", status=500)
        if "verbose" not in request.query:
            return text_reply("ok")
        return text_reply(f"{''.join(lines)}{self.name} check passed\n")

    async def _passes(self, check: HealthCheck) -> bool:
        passed = True
        try:
            await check.probe()
        except UnhealthyError as error:
            _LOG.info("health check failed", endpoint=self.name, check=check.name, error=str(error.__cause__ or error))
            passed = False
        self.results[check.name] = passed
        self.outcomes[check.name, "success" if passed else "error"] += 1
        return passed

    async def _one(self, check: HealthCheck) -> web.StreamResponse:
        try:
            await check.probe()
        except UnhealthyError as error:
            return text_reply(f"internal server error: {error}", status=500)
        return Reply("\n".join(["ok", *check.remarks()]).encode(), content_type=_TEXT)


async def _ping() -> None:
    """Pass: a server that answers is alive."""


PING: Final = HealthCheck("ping", _ping)
