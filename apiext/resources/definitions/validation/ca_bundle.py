"""Validation of a conversion webhook's CA bundle (client-go transport.TLSConfigFor)."""

from __future__ import annotations

import base64
import re
import ssl
from typing import TYPE_CHECKING, Final

from apiext.base.meta import field

if TYPE_CHECKING:
    from apiext.base.meta.field import FieldError, Path

_BLOCK: Final = re.compile(
    r"^-----BEGIN (?P<type>[^\n-]+)-----[ \t]*\r?\n(?P<body>[^-]*)^-----END (?P=type)-----[ \t]*(?:\r?\n|\Z)", re.MULTILINE
)


def ca_bundle_errors(bundle: str, path: Path) -> list[FieldError]:
    """Return the errors of a base64-encoded PEM bundle: none if it is empty or at least one certificate can be parsed."""
    text = base64.b64decode(bundle).decode("latin-1")
    if not text:
        return []
    certificates = [block["body"] for block in _BLOCK.finditer(text) if block["type"] == "CERTIFICATE" and ":" not in block["body"]]
    if any(map(_is_certificate, certificates)):
        return []
    if certificates:
        reason = "failed to parse certificate: x509: malformed certificate"
    elif _BLOCK.sub("", text):
        reason = "unable to parse bytes as PEM block"
    else:
        reason = "no valid certificate authority data seen"
    return [field.invalid(path, bundle, f"unable to load root certificates: {reason}")]


def _is_certificate(body: str) -> bool:
    try:
        der = base64.b64decode("".join(body.split()), validate=True)
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=der)
    except (ssl.SSLError, ValueError):
        return False
    return True
