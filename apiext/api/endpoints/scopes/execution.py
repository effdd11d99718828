"""Where writes are executed: on the event loop or in a worker process."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Final, TypeVar

from apiext.api.endpoints.serializers.negotiation import YAML
from apiext.base.meta import limits
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.inline_work import HeavyWorkError, InlineWork, restarted
from apiext.base.scheduling.side_thread import aside

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import Execute, Scope
    from apiext.api.endpoints.scopes.write_call import WriteCall
    from apiext.base.workers.pool import WorkerPool

_LOG: Final = get_logger(__name__)
_YAML_CODEC: Final = "apiext.base.meta.encoding.yaml_codec"
T = TypeVar("T")


async def perform_own(workers: WorkerPool, scope: Scope, execute: Execute[T], call: WriteCall, *, heavy: bool = False) -> T:
    """Execute a write of the server itself, as `perform`, and log its warnings, which no client gets."""
    result = await perform(workers, scope, execute, call, heavy=heavy)
    for warning in call.warnings:
        _LOG.warning("write accepted with a warning", resource=str(scope.resource.group_resource), name=call.name, warning=warning)
    return result


async def perform(workers: WorkerPool, scope: Scope, execute: Execute[T], call: WriteCall, *, heavy: bool = False) -> T:
    """Execute a write on the event loop if its body and the stored object are small and it is not `heavy`, else in a worker process.

    A write whose patterns turn out to cost much starts again there. While the start of a process is late, medium ones stay on the loop.

    Raises:
        StatusError: the write failed.
    """
    remote = scope.remote
    if remote is None:
        return await execute(scope, call)
    limit, stretch = limits.MAX_INLINE_YAML_BYTES if call.media_type == YAML else limits.MAX_INLINE_BYTES, workers.inline_stretch
    if not heavy and len(call.data) <= limit * stretch:
        if call.media_type == YAML and _YAML_CODEC not in sys.modules:
            # 1 MiB and 10 ms, which most servers never need
            await aside(lambda: importlib.import_module(_YAML_CODEC))
        known, work = len(call.warnings), InlineWork(stretch=stretch)
        try:
            with work:
                return await execute(scope, call)
        except HeavyWorkError as error:
            if work.is_committed:
                raise AssertionError("a write that was committed would start again") from error
            del call.warnings[known:]
            if call.record is not None:
                call.record.forget()
        with restarted(work):
            return await remote.run(workers, execute, call)
    return await remote.run(workers, execute, call)
