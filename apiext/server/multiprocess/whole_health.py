"""/healthz, /livez and /readyz of a server of several workers: each worker's checks, and one check for each other worker."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import orjson

from apiext.base.scheduling.tasks import SharedWork
from apiext.server.routes.healthz import HealthCheck, HealthEndpoint, UnhealthyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiohttp import web

    from apiext.server.multiprocess.siblings import SiblingAnswer, Siblings

_SECONDS: Final = 2.0
"""Time for the checks of another worker. The probes of the manifests wait for 5 s."""
_QUESTION: Final = "health"


class WholeHealth:
    """Adds the checks of other workers: a client reaches any of them, so the server is ready when all are."""

    def __init__(self, siblings: Siblings) -> None:
        self._siblings = siblings
        self._own: dict[str, HealthEndpoint] = {}
        self._asking: SharedWork[list[SiblingAnswer]] = SharedWork()
        siblings.on_question(_QUESTION, self._answer)

    def endpoints(self, own: Sequence[HealthEndpoint]) -> list[HealthEndpoint]:
        """Return the endpoints of the server from those of this worker."""
        self._own = {endpoint.name: endpoint for endpoint in own}
        return [WholeHealthEndpoint(endpoint, self) for endpoint in own]

    @property
    def others(self) -> list[int]:
        """Return the numbers of the other workers."""
        return [index + 1 for index in range(self._siblings.workers) if index != self._siblings.index]

    async def ask(self, endpoint: str, excluded: Sequence[str]) -> dict[int, SiblingAnswer]:
        """Return the answers by worker. Requests at the same time share a question: anybody may send any number of them."""
        names = sorted({check.name for check in self._own[endpoint].checks}.intersection(excluded))
        arguments = {"endpoint": endpoint, "excluded": names}
        key = endpoint, *names
        answers = await self._asking.run(key, lambda: self._siblings.ask(_QUESTION, seconds=_SECONDS, **arguments))
        return {answer.number: answer for answer in answers}

    async def _answer(self, arguments: dict[str, Any]) -> bytes:
        """Return the failed checks of this worker with their reasons."""
        return orjson.dumps(await self._own[arguments["endpoint"]].failures(arguments["excluded"]))


class WholeHealthEndpoint(HealthEndpoint):
    """A health endpoint with the checks of one worker, and those of the others as one check each."""

    def __init__(self, own: HealthEndpoint, whole: WholeHealth) -> None:
        self._own = own
        self._whole = whole
        super().__init__(own.name, [*own.checks, *_Question(own.name, whole, ()).checks()])

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the result as `HealthEndpoint` does. Excluded checks are excluded in all workers."""
        question = _Question(self.name, self._whole, request.query.getall("exclude", ()))
        return await HealthEndpoint(self.name, [*self._own.checks, *question.checks()])(request)


class _Question:
    """The question of one request to the other workers, asked once for all checks."""

    def __init__(self, endpoint: str, whole: WholeHealth, excluded: Sequence[str]) -> None:
        self._endpoint = endpoint
        self._whole = whole
        self._excluded = excluded
        self._answers: dict[int, SiblingAnswer] = {}

    def checks(self) -> list[HealthCheck]:
        """Return a check for each other worker."""
        return [HealthCheck(f"worker-{number}", partial(self._probe, number)) for number in self._whole.others]

    async def _probe(self, worker: int) -> None:
        """Pass if all checks of a worker pass.

        Raises:
            UnhealthyError: a check failed, the worker does not run, or it did not answer in time.
        """
        self._answers = self._answers or await self._whole.ask(self._endpoint, self._excluded)
        answer = self._answers[worker]
        if answer.data is None:
            raise UnhealthyError(f"worker {worker} does not answer" if answer.is_there else f"worker {worker} is not running")
        failed: dict[str, str] = orjson.loads(answer.data)
        if failed:
            raise UnhealthyError("; ".join(f"worker {worker}: {check}: {reason}" for check, reason in failed.items()))
