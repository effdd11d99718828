"""Work with a client of the server, for callers that are not asynchronous."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from apiext.base.scheduling.blocking import result_of
from apiext.base.webhook.clientcmd import kubeconfig
from apiext.tools.replay.outcome import ReplayError
from apiext.tools.replay.server_client import RefusedError, ServerClient
from apiext.tools.testkit.kit_error import KitError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

T = TypeVar("T")


def run_with_client(config: Path, work: Callable[[ServerClient], Awaitable[T]]) -> T:
    """Return the result of work with a client of a kubeconfig, in a thread of its own: the caller may be in an event loop.

    Raises:
        KitError: the server does not answer, or refuses a request.
    """

    async def run() -> T:
        client = ServerClient(kubeconfig.load(config))
        try:
            return await work(client)
        finally:
            await client.close()

    try:
        return result_of(run())
    except (RefusedError, ReplayError, kubeconfig.KubeconfigError) as error:
        raise KitError(str(error)) from error
