"""Start and stop: listen, serve, and on SIGTERM or SIGINT finish the current requests and close the stores.

Mirrors apiserver pkg/server/genericapiserver.go (PreparedRun and its shutdown order).
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.side_thread import CountedThreads
from apiext.base.scheduling.tasks import run_until_closed
from apiext.server.app import open_app
from apiext.server.host.clients import HostClients
from apiext.server.http.acceptor import Acceptor
from apiext.server.http.server import HTTPServer, listen, url_of
from apiext.server.loop_errors import ignore_closed_connections
from apiext.server.parent_process import parent_followed
from apiext.server.process_resources import raise_open_files_limit, return_free_memory
from apiext.server.routes.process_role import ProcessRole
from apiext.server.shutdown import shut_down
from apiext.server.stop_signal import stop_signal
from apiext.server.tls.credentials import load_credentials

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.server.host.delegated_authentication import Delegation
    from apiext.server.options.options import ServerOptions
    from apiext.server.tls.credentials import ServerCredentials

_LOG: Final = get_logger(__name__)


async def serve(options: ServerOptions, *, started: Callable[[dict[str, str]], None]) -> None:
    """Serve as the only process until SIGTERM or SIGINT, or until the parent process ends (`exits_with_parent`).

    Call `started` with facts to print once the server is ready.

    Raises:
        StartError: the server cannot start. All resources are released.
    """
    stopping = stop_signal()
    async with AsyncExitStack() as stack:
        if options.exits_with_parent:
            stack.enter_context(parent_followed(stopping))
        listener = listen(options.serving.bind_address, options.serving.port)
        url = url_of(listener)
        role = ProcessRole(connections=listener, url=url, name=url, stopping=stopping, hurry=stop_signal)
        await run_server(options, role, started=started)


async def run_server(options: ServerOptions, role: ProcessRole, *, started: Callable[[dict[str, str]], None]) -> None:
    """Serve the connections of `role` until it says to stop. Call `started` once the server is ready.

    Raises:
        StartError: the server cannot start. All resources are released.
    """
    ignore_closed_connections()
    raise_open_files_limit()
    asyncio.get_running_loop().set_default_executor(CountedThreads(thread_name_prefix="asyncio"))
    async with AsyncExitStack() as stack:
        stack.callback(role.connections.close)
        credentials = load_credentials(options)
        clients = HostClients(stack)
        delegation = await _delegation(options, credentials, clients, stack)
        app = await open_app(options, role, clients=clients, credentials=credentials, delegation=delegation, stack=stack)
        credentials.write_kubeconfig(role.url)
        http = HTTPServer(app.handler, credentials.dynamic_tls, options.serving.http2)
        role.serving(http)
        acceptor = Acceptor(role.connections, http, credentials.dynamic_tls.context)
        await app.load(clients, stack)
        facts = {"address": role.url, **app.describe()}
        if credentials.kubeconfig is not None:
            facts["kubeconfig"] = str(credentials.kubeconfig)
        started(facts)
        run_until_closed(stack, credentials.rotation(options, role.url).run())
        run_until_closed(stack, return_free_memory())
        preparing = asyncio.create_task(app.preparation.run())
        run_until_closed(stack, app.preparation.keep_processes())
        await role.stopping.wait()
        # a second signal counts from now on
        hurry = role.hurry()
        await preparing
        _LOG.info("server shutting down")
        await shut_down(app, http, acceptor, options.limits, hurry=hurry)


async def _delegation(
    options: ServerOptions, credentials: ServerCredentials, clients: HostClients, stack: AsyncExitStack
) -> Delegation | None:
    if options.authentication.delegate is None:
        return None
    # few servers delegate authentication
    from apiext.server.host.delegated_authentication import open_delegation

    client = clients.client(options.authentication.delegate)
    return await open_delegation(client, options.authentication, credentials.dynamic_tls, stack, recalls=options.crd_selector is not None)
