"""From here to apiext: the connection, and the certificate that it shows."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from apiext.operator.checks.connections import trusting
from apiext.operator.checks.snapshot import PORT
from apiext.operator.checks.verdict import broken, ok

if TYPE_CHECKING:
    from apiext.operator.checks.snapshot import Look, Route
    from apiext.operator.checks.verdict import Verdict

_PATIENCE: Final = 5.0
_MISNAMED: Final = 62
_ENDED: Final = 10
_NOT_BEGUN: Final = 9


async def connection(look: Look, group: str) -> Verdict:
    """Something listens where apiext should."""
    host, port = _address(await look.route(group))
    where = f"{host}:{port}"
    try:
        await _close(await _connect(host, port))
    except TimeoutError:
        return broken(f"{where} does not answer within {_PATIENCE:.0f} s", "see firewalls and NetworkPolicies between here and apiext")
    except ConnectionRefusedError:
        return broken(f"nothing listens on {where}", "start apiext, and see its log; or name its address with --server")
    except OSError as error:
        why = error.strerror or str(error)
        return broken(
            f"{where} cannot be reached: {why}", "name with --server an address of apiext that is reached from here (kubectl port-forward)"
        )
    return ok(f"{where} accepts connections")


async def certificate(look: Look, group: str) -> Verdict:
    """Apiext's certificate is one that the host accepts: of the caBundle, for the name of the Service, and not over."""
    route = await look.route(group)
    name = route.service.host
    try:
        shown = await _shown(route, trusting(route.authority))
    except ssl.SSLCertVerificationError as error:
        return await _refused(route, error)
    except (OSError, TimeoutError) as error:
        return broken(f"no TLS connection is made: {error!s:.200}".rstrip(": "), "see whether --server is apiext's own port; see its log")
    return ok(f"it is of the caBundle and for {name}, until {shown.get('notAfter')}")


async def _refused(route: Route, error: ssl.SSLCertVerificationError) -> Verdict:
    name = route.service.host
    renew = f"give apiext a certificate for {name} (--tls-cert-file, --tls-private-key-file)"
    if error.verify_code == _MISNAMED:
        return broken(f"apiext's certificate is not for {name}, but for {await _names(route)}", renew)
    if error.verify_code in {_ENDED, _NOT_BEGUN}:
        when = "has ended" if error.verify_code == _ENDED else "is not valid yet"
        return broken(f"apiext's certificate, or its authority's, {when}", renew)
    return broken(
        f"apiext's certificate is not of the authorities that the host trusts for it ({error.verify_message})",
        "put its authority into the caBundle of the APIServices (--ca-file of the operator)",
    )


async def _names(route: Route) -> str:
    """The names in the certificate."""
    context = trusting(route.authority)
    context.check_hostname = False
    with suppress(OSError, TimeoutError):
        found = [value for _kind, value in (await _shown(route, context)).get("subjectAltName", ())]
        return ", ".join(found) or "no name at all"
    return "others"


async def _shown(route: Route, context: ssl.SSLContext) -> dict[str, Any]:
    """The certificate that is shown, once it is verified. Raises OSError, TimeoutError."""
    host, port = _address(route)
    writer = await _connect(host, port, context, route.service.host)
    found: dict[str, Any] = writer.get_extra_info("peercert") or {}
    await _close(writer)
    return found


async def _connect(host: str, port: int, context: ssl.SSLContext | None = None, name: str | None = None) -> asyncio.StreamWriter:
    async with asyncio.timeout(_PATIENCE):
        _reader, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=name)
    return writer


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            await writer.wait_closed()


def _address(route: Route) -> tuple[str, int]:
    parts = urlsplit(route.server)
    return parts.hostname or "", parts.port or PORT
