"""Endpoints in worker processes: the same code as in the server, over the server's store and admission."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, TypeVarTuple

from apiext.api.endpoints.responsewriters.warning_headers import shortened
from apiext.base.meta import limits
from apiext.base.meta.errors import StatusError
from apiext.base.scheduling.inline_work import elsewhere
from apiext.base.workers.restarts import CallsAside

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from apiext.api.audit.request_record import RequestRecord
    from apiext.api.endpoints.scopes.scope import Execute, Scope
    from apiext.api.endpoints.scopes.write_call import WriteCall
    from apiext.base.scheduling.call_log import CallLog
    from apiext.base.workers.pool import WorkerPool
    from apiext.base.workers.server_link import Answers, ServerLink

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


@dataclass(frozen=True, slots=True, eq=False)
class RemoteScope:
    """Implements ScopeCopies: how worker processes make their copies of a resource's scopes, and what they may call in the server."""

    build: Callable[[ServerLink, Any], Mapping[str, Scope]]
    """Makes the scopes by subresource for the place. A function of a module."""
    place: Any
    """Names the resource and its state; small."""
    answers: Callable[[CallLog | None], Answers]
    """Returns what a job may call, and calls webhooks by the log."""

    async def run(self, workers: WorkerPool, execute: Execute[T], call: WriteCall) -> T:
        """Implement ScopeCopies.run."""
        user, work = call.user.name, elsewhere()
        answers, kind = self.answers(CallsAside(workers)), (self.place, execute, _size_class(call))
        try:
            with work:
                outcome: _Outcome[T] = await workers.converse(
                    _run, self.build, self.place, execute, call, answers=answers, user=user, kind=kind
                )
        except StatusError as error:
            if work.is_committed:
                # the process was lost: a client that repeats the write would find its own object
                raise StatusError(error.code, error.reason, f"{error.message}; the write is stored") from error
            raise
        call.warnings[:] = outcome.warnings
        if call.record is not None and outcome.record is not None:
            call.record.replace(outcome.record)
        if outcome.error is not None:
            try:
                raise outcome.error
            finally:
                # the error refers to this frame
                del outcome
        return outcome.value

    async def inspect(
        self, workers: WorkerPool, function: Callable[[ServerLink, Any, *Ts], Coroutine[Any, Any, T]], *args: *Ts, user: str
    ) -> T:
        """Implement ScopeCopies.inspect."""
        answers, kind = self.answers(None), (self.place, function)
        return await workers.converse(function, self.place, *args, answers=answers, user=user, kind=kind)


def _size_class(call: WriteCall) -> int:
    """Return a number for writes that take about equally long, as far as their size tells."""
    return max(len(call.data), limits.MAX_INLINE_BYTES).bit_length()


@dataclass(frozen=True, slots=True)
class _Outcome(Generic[T]):
    """What a write returned or raised, the warnings of both, and the record for the audit event."""

    value: T
    error: StatusError | None
    warnings: list[str]
    record: RequestRecord | None


async def _run(
    link: ServerLink, build: Callable[[ServerLink, Any], Mapping[str, Scope]], place: Any, execute: Execute[T], call: WriteCall
) -> _Outcome[T]:
    scope = build(link, place)[call.subresource]
    try:
        return _Outcome(await execute(scope, call), None, shortened(call.warnings), call.record)
    except StatusError as error:
        return _Outcome(None, error, shortened(call.warnings), call.record)  # type: ignore[arg-type]
