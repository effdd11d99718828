"""Measures the memory of watches without events, each on a connection of its own."""

import resource
import socket
import ssl
from contextlib import ExitStack
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from hack.lib.bench import workload
from hack.lib.bench.connections import counted
from hack.lib.bench.targets import Target
from hack.lib.servers import resources
from hack.lib.servers.tls_connection import client_context

LABEL: Final = "idle watchers"
_WATCHERS: Final = 1000
_ONE: Final = f"an idle watch ({_WATCHERS:,} of them)"
_KIB: Final = 1024
"""KiB in a MiB."""
_SPARE_FILES: Final = 100
_OK: Final = b"HTTP/1.1 200 "


def measure(target: Target) -> dict[str, float]:
    """Return the growth of the server by a watch in KiB, once it has closed the watches. It must serve the definition of the workload.

    Raises:
        RuntimeError: a watch is refused.
    """
    return {f"memory of {_ONE}, KiB": _measure(target, target.pids())}


def measure_proxied(target: Target) -> dict[str, float]:
    """Return the growth of the server alone by a watch through the host, and the connections over which the host sends them all.

    Raises:
        RuntimeError: a watch is refused.
    """
    hosts = target.host_pids()
    with counted(target.proxied_port()) as found:
        grown = _measure(target, [pid for pid in target.pids() if pid not in hosts])
    label = f"memory of {_ONE}, KiB" if not hosts else f"memory of {_ONE}, without the host's, KiB"
    return {label: grown} | ({f"connections of the host: {_WATCHERS:,} watches": found.most} if found.most else {})


def _measure(target: Target, pids: list[int]) -> float:
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, max(allowed, _WATCHERS + _SPARE_FILES)), most))
    access = target.access()
    context = client_context(*(Path(access[name]) for name in ("CA", "Cert", "Key")))
    before = resources.settled_mib(pids)
    with ExitStack() as stack:
        for _ in range(_WATCHERS):
            stack.enter_context(_watch(access["URL"], context))
        grown = resources.settled_mib(pids) - before
    # the end of so many connections would be part of the next measurement
    resources.wait_until_idle(target.pids())
    return grown * _KIB / _WATCHERS


def _watch(url: str, context: ssl.SSLContext) -> ssl.SSLSocket:
    """Return a connection on which a watch has begun."""
    place = urlsplit(url)
    connection = context.wrap_socket(socket.create_connection((place.hostname, place.port), timeout=60), server_hostname=place.hostname)
    path = f"{workload.COLLECTION}?watch=true&resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
    connection.sendall(f"GET {path}&timeoutSeconds=600 HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
    answer = connection.recv(_KIB)
    if not answer.startswith(_OK):
        connection.close()
        raise RuntimeError(f"a watch was answered with {answer!r}")
    return connection
