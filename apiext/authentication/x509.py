"""Users of client certificates: the common name is the user, each organization a group.

The TLS layer has verified the certificate before anything here sees it.
Mirrors apiserver pkg/authentication/request/x509 (CommonNameUserConversion).
"""

from __future__ import annotations

import hashlib
import math
import ssl
from typing import TYPE_CHECKING, Any

from apiext.meta.request import UserInfo
from apiext.meta.user import CREDENTIAL_ID

if TYPE_CHECKING:
    from collections.abc import Mapping


def user_of(certificate: Mapping[str, Any], der: bytes) -> UserInfo | None:
    """The user of a verified certificate, None where it names nobody.

    `certificate` is in the form of `ssl.SSLObject.getpeercert()`, `der` its bytes.
    """
    name = common_name(certificate)
    if not name:
        return None
    return UserInfo(
        name=name,
        groups=tuple(_attributes(certificate, "organizationName")),
        extra={CREDENTIAL_ID: (f"X509SHA256={hashlib.sha256(der).hexdigest()}",)},
    )


def common_name(certificate: Mapping[str, Any]) -> str:
    """The common name of a certificate's subject, empty where it has none; the last one counts."""
    names = _attributes(certificate, "commonName")
    return names[-1] if names else ""


def end_of(certificate: Mapping[str, Any]) -> float:
    """When a certificate ends, in seconds since the epoch."""
    end = certificate.get("notAfter")
    return ssl.cert_time_to_seconds(end) if end else math.inf


def _attributes(certificate: Mapping[str, Any], name: str) -> list[str]:
    return [text for rdn in certificate.get("subject", ()) for key, text in rdn if key == name]
