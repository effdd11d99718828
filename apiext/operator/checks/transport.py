"""Checks of the connection from here to apiext, and of apiext's certificate."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from apiext.operator.api_clients import trusting
from apiext.operator.checks.snapshot import PORT, Route, Snapshot
from apiext.operator.checks.verdict import CheckVerdict, broken, ok

_TIMEOUT_SECONDS: Final = 5.0
_HOSTNAME_MISMATCH: Final = 62
_EXPIRED: Final = 10
_NOT_YET_VALID: Final = 9


async def connection(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that apiext's address accepts connections."""
    host, port = _address(await snapshot.route(group))
    where = f"{host}:{port}"
    try:
        await _close(await _connect(host, port))
    except TimeoutError:
        return broken(
            f"{where} does not answer within {_TIMEOUT_SECONDS:.0f} s", "see firewalls and NetworkPolicies between here and apiext"
        )
    except ConnectionRefusedError:
        return broken(f"nothing listens on {where}", "start apiext, and see its log; or name its address with --server")
    except OSError as error:
        why = error.strerror or str(error)
        return broken(
            f"{where} cannot be reached: {why}", "name with --server an address of apiext that is reached from here (kubectl port-forward)"
        )
    return ok(f"{where} accepts connections")


async def certificate(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that the host accepts apiext's certificate: its authority, the name of the Service, and its validity."""
    route = await snapshot.route(group)
    name = route.service.host
    try:
        presented = await _peer_certificate(route, trusting(route.authority))
    except ssl.SSLCertVerificationError as error:
        return await _rejected(route, error)
    except (OSError, TimeoutError) as error:
        return broken(f"no TLS connection is made: {error!s:.200}".rstrip(": "), "see whether --server is apiext's own port; see its log")
    return ok(f"it is of the caBundle and for {name}, until {presented.get('notAfter')}")


async def _rejected(route: Route, error: ssl.SSLCertVerificationError) -> CheckVerdict:
    name = route.service.host
    renew = f"give apiext a certificate for {name} (--tls-cert-file, --tls-private-key-file)"
    if error.verify_code == _HOSTNAME_MISMATCH:
        return broken(f"apiext's certificate is not for {name}, but for {await _names(route)}", renew)
    if error.verify_code in {_EXPIRED, _NOT_YET_VALID}:
        when = "has ended" if error.verify_code == _EXPIRED else "is not valid yet"
        return broken(f"apiext's certificate, or its authority's, {when}", renew)
    return broken(
        f"apiext's certificate is not of the authorities that the host trusts for it ({error.verify_message})",
        "put its authority into the caBundle of the APIServices (--ca-file of the operator)",
    )


async def _names(route: Route) -> str:
    """Return the names in the certificate as text."""
    context = trusting(route.authority)
    context.check_hostname = False
    with suppress(OSError, TimeoutError):
        found = [value for _kind, value in (await _peer_certificate(route, context)).get("subjectAltName", ())]
        return ", ".join(found) or "no name at all"
    return "others"


async def _peer_certificate(route: Route, context: ssl.SSLContext) -> dict[str, Any]:
    """Return the verified certificate of apiext. Raises OSError, TimeoutError."""
    host, port = _address(route)
    writer = await _connect(host, port, context, route.service.host)
    found: dict[str, Any] = writer.get_extra_info("peercert") or {}
    await _close(writer)
    return found


async def _connect(host: str, port: int, context: ssl.SSLContext | None = None, name: str | None = None) -> asyncio.StreamWriter:
    async with asyncio.timeout(_TIMEOUT_SECONDS):
        _reader, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=name)
    return writer


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            await writer.wait_closed()


def _address(route: Route) -> tuple[str, int]:
    parts = urlsplit(route.server)
    return parts.hostname or "", parts.port or PORT
