"""Flags that say where conversion webhooks are."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.base.webhook.host_addresses import ServiceAddresses


def webhook_flags(without: str) -> list[click.Option]:
    """Return the flags; `without` says what happens without --service-address."""
    return [
        click.Option(["--webhook-url"], metavar="URL", help="URL of the conversion webhook, instead of that in the definitions."),
        click.Option(["--webhook-ca-file"], metavar="FILE", help="CA of the certificate at --webhook-url."),
        click.Option(
            [_SERVICES],
            metavar="NAMESPACE/NAME=HOST:PORT",
            multiple=True,
            help=f"Address of a webhook's Service; may be repeated. {without}",
        ),
    ]


_SERVICES: Final = "--service-address"


def webhook_of(flags: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the clientConfig of the webhook in the flags, or None.

    Raises:
        UsageError: a flag is invalid.
    """
    url, file = flags["webhook_url"], flags["webhook_ca_file"]
    if not url:
        if file:
            raise click.UsageError("--webhook-ca-file needs --webhook-url")
        return None
    if not url.startswith("https://"):
        raise click.UsageError(f"--webhook-url: {url!r} does not begin with https://")
    if not file:
        return {"url": url}
    try:
        return {"url": url, "caBundle": base64.b64encode(Path(file).expanduser().read_bytes()).decode()}
    except OSError as error:
        raise click.UsageError(f"--webhook-ca-file: {file}: {error.strerror}") from error


def services_of(flags: Mapping[str, Any]) -> ServiceAddresses | None:
    """Return the addresses of Services in the flags, or None.

    Raises:
        UsageError: an address is invalid.
    """
    from apiext.base.webhook.host_addresses import parse_service_addresses

    try:
        return parse_service_addresses(flags["service_address"]) or None
    except ValueError as error:
        raise click.UsageError(f"{_SERVICES}: {error}") from error
