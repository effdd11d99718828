"""Endpoints in worker processes: the same code as in the server, over the server's store and admission."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from apiext.conversion.calls import POST
from apiext.endpoints.responsewriters.warning_headers import shortened
from apiext.meta.errors import StatusError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.endpoints.scopes.scope import Scope
    from apiext.endpoints.scopes.write_call import WriteCall
    from apiext.workers.pool import WorkerPool
    from apiext.workers.server_link import ServerLink

T = TypeVar("T")

Execute = Callable[["Scope", "WriteCall"], Awaitable[T]]
"""Executes a write in a scope. A function of a module."""


@dataclass(frozen=True, slots=True, eq=False)
class RemoteScope:
    """How worker processes make their copies of a resource's scopes, and what the server answers them."""

    build: Callable[[ServerLink, Any], Mapping[str, Scope]]
    """Makes the scopes by subresource for the place. A function of a module."""
    place: Any
    """Names the resource and its state; small."""
    answers: Callable[[], Mapping[str, Callable[..., Awaitable[Any]]]]

    async def run(self, workers: WorkerPool, execute: Execute[T], call: WriteCall) -> T:
        """Execute a write in a worker process.

        Raises:
            StatusError: the write failed, or the process did.
        """
        user, answers = call.user.name, dict(self.answers())
        post = answers.get(POST)
        if post is not None:
            answers[POST] = lambda body: workers.wait_aside(post(body), user)
        outcome: _Outcome[T] = await workers.converse(_run, self.build, self.place, execute, call, answers=answers, user=user)
        call.warnings[:] = outcome.warnings
        if outcome.error is not None:
            try:
                raise outcome.error
            finally:
                # the error refers to this frame
                del outcome
        return outcome.value


@dataclass(frozen=True, slots=True)
class _Outcome(Generic[T]):
    """What a write returned or raised, and the warnings of both."""

    value: T
    error: StatusError | None
    warnings: list[str]


async def _run(
    link: ServerLink, build: Callable[[ServerLink, Any], Mapping[str, Scope]], place: Any, execute: Execute[T], call: WriteCall
) -> _Outcome[T]:
    scope = build(link, place)[call.subresource]
    try:
        return _Outcome(await execute(scope, call), None, shortened(call.warnings))
    except StatusError as error:
        return _Outcome(None, error, shortened(call.warnings))  # type: ignore[arg-type]
