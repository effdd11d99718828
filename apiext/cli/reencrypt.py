"""`apiext reencrypt`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from apiext.base.texts import counted
from apiext.cli.releases.interruptible import run_interruptible
from apiext.cli.stored_source import SERVER_FLAGS, endpoint_of
from apiext.tools.reports.texts import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_PASSES: Final = 3
_SHOWN: Final = 20


@click.command(params=SERVER_FLAGS, short_help="Encrypt all stored values with the first key again.")
def reencrypt(**flags: Any) -> int:
    """Have a running server write all values again that are not encrypted by the first provider and key of its configuration.

    Afterwards no value needs another key: remove the old ones from the files of all servers. Exits with 1 if a value still does.
    """
    return run_interruptible(_reencrypt(flags))


async def _reencrypt(flags: Mapping[str, Any]) -> int:
    from apiext.base.webhook.client import WebhookClient
    from apiext.resources.stored_objects.interface import RescueError
    from apiext.tools.rescue.server_objects import ServerObjects

    server = ServerObjects(WebhookClient(endpoint_of(flags), timeout=60.0, backoff=()))
    try:
        examined, written, unreadable = await server.reencrypt()
        total, passes = written, 1
        while written and passes < _MAX_PASSES:
            examined, written, unreadable = await server.reencrypt()
            total, passes = total + written, passes + 1
    except RescueError as error:
        raise click.ClickException(str(error)) from error
    finally:
        await server.close()
    click.echo(f"wrote {counted(total, 'value')} again; examined {examined}")
    for key in unreadable[:_SHOWN]:
        click.echo(f"cannot be decrypted: {printable(key)}", err=True)
    if written:
        click.echo("values with other keys keep coming: do all servers use the same configuration?", err=True)
    elif unreadable:
        click.echo(f"{counted(len(unreadable), 'value')} cannot be decrypted: keep the old keys, and see apiext rescue", err=True)
    else:
        click.echo("every value can be read with the first key of its resource: the other keys can be removed")
    return 1 if written or unreadable else 0
