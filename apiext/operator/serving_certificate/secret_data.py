"""The Secret's form: `tls.crt`, `tls.key` and `ca.crt` as everywhere, and what is shown next in `next.crt` and `next.key`."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, Final

from apiext.cert.issuing import Pem
from apiext.operator.serving_certificate.rotation import Kept

if TYPE_CHECKING:
    from apiext.operator.api_clients import Json

_CERT_MANAGER: Final = "cert-manager.io/certificate-name"
_FIELDS: Final = ("tls.crt", "tls.key", "ca.crt", "next.crt", "next.key")


def new_secret(namespace: str, name: str) -> Json:
    """One without data."""
    labels = {"app.kubernetes.io/managed-by": "apiext", "app.kubernetes.io/part-of": "apiext"}
    metadata = {"namespace": namespace, "name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls"}


def read(secret: Json) -> Kept:
    """What a Secret holds; what cannot be read is not there."""
    data = secret.get("data") or {}
    shown, key, authorities, coming, coming_key = (_text(data.get(field)) for field in _FIELDS)
    return Kept(Pem(shown, key), authorities, Pem(coming, coming_key))


def with_kept(secret: Json, kept: Kept) -> Json:
    """The Secret with other certificates, and all else as it was."""
    texts = (*kept.shown, kept.authorities, *kept.coming)
    new = {field: base64.b64encode(text.encode()).decode() for field, text in zip(_FIELDS, texts, strict=True) if text}
    others = {field: value for field, value in (secret.get("data") or {}).items() if field not in _FIELDS}
    return {**secret, "data": {**others, **new}}


def is_cert_managers(secret: Json) -> bool:
    """Whether cert-manager makes it."""
    return _CERT_MANAGER in (secret.get("metadata", {}).get("annotations") or {})


def _text(value: Any) -> str:
    try:
        return base64.b64decode(value or "", validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError, TypeError):
        return ""
