"""Validation of a conversion webhook's CA bundle (client-go transport.TLSConfigFor)."""

from __future__ import annotations

import base64
import re
import ssl
from typing import TYPE_CHECKING, Final

from apiext.meta import field

if TYPE_CHECKING:
    from apiext.meta.field import FieldError, Path

_BLOCK: Final = re.compile(
    r"^-----BEGIN (?P<type>[^\n-]+)-----[ \t]*\r?\n(?P<body>[^-]*)^-----END (?P=type)-----[ \t]*(?:\r?\n|\Z)", re.MULTILINE
)
_PREFIX: Final = "unable to load root certificates: "


def ca_bundle_errors(bundle: str, path: Path) -> list[FieldError]:
    """Return the errors of a base64-encoded PEM bundle: none if it is empty or at least one certificate can be parsed."""
    text = base64.b64decode(bundle).decode("latin-1")
    if not text:
        return []
    reason = ""
    for block in _BLOCK.finditer(text):
        if block["type"] != "CERTIFICATE" or ":" in block["body"]:
            continue
        error = _certificate_error(block["body"])
        if not error:
            return []
        reason = reason or f"failed to parse certificate: {error}"
    if not reason:
        trailing = _BLOCK.sub("", text) if _BLOCK.search(text) else text
        reason = "unable to parse bytes as PEM block" if trailing else "no valid certificate authority data seen"
    return [field.invalid(path, bundle, _PREFIX + reason)]


def _certificate_error(body: str) -> str:
    try:
        der = base64.b64decode("".join(body.split()), validate=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=der)
    except ssl.SSLError:
        return "x509: malformed certificate"
    except ValueError:
        return "x509: malformed certificate"
    return ""
