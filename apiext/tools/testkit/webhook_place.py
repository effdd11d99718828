"""The place of a conversion webhook that runs beside the tests: a free port, and a certificate that the server trusts."""

from __future__ import annotations

import base64
import datetime
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object

_HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class WebhookPlace:
    """Where a conversion webhook of a test listens."""

    host: str
    port: int
    cert_dir: Path
    """A folder with tls.crt and tls.key for the webhook, as Secrets of type kubernetes.io/tls have them, and ca.crt, the authority."""

    @classmethod
    def create(cls, cert_dir: Path) -> WebhookPlace:
        """Choose a free port, and issue a certificate for it."""
        from apiext.base.cert.issuing import issue_serving, new_authority

        now = datetime.datetime.now(datetime.UTC)
        authority = new_authority("apiext-testkit", now)
        serving = issue_serving(authority, [_HOST, "localhost"], now)
        cert_dir.mkdir(parents=True, exist_ok=True)
        for name, text in (("ca.crt", authority.cert), ("tls.crt", serving.cert), ("tls.key", serving.key)):
            (cert_dir / name).write_text(text)
        (cert_dir / "tls.key").chmod(0o600)
        with socket.socket() as probe:
            probe.bind((_HOST, 0))
            return cls(_HOST, probe.getsockname()[1], cert_dir)

    def redirect(self, crd: Object) -> Object:
        """Return a CRD whose conversion webhook, if it has one, is here. The path of its URL or Service stays."""
        conversion = crd["spec"].get("conversion") or {}
        if conversion.get("strategy") != "Webhook":
            return crd
        webhook = conversion.get("webhook") or {}
        path = _path(webhook.get("clientConfig") or {})
        bundle = base64.b64encode((self.cert_dir / "ca.crt").read_bytes()).decode()
        moved = {"clientConfig": {"url": f"https://{self.host}:{self.port}{path}", "caBundle": bundle}}
        return crd | {"spec": crd["spec"] | {"conversion": conversion | {"webhook": webhook | moved}}}


def _path(config: Object) -> str:
    path = (config.get("service") or {}).get("path") or urlsplit(config.get("url") or "").path
    return f"/{path.lstrip('/')}"
