"""The ConfigMap extension-apiserver-authentication: certificate authorities of clients and front proxies, and front-proxy headers.

Mirrors apiserver pkg/authentication/request/headerrequest (requestheader_controller.go) and pkg/server/dynamiccertificates
(configmap_cafile_content.go): a missing or invalid entry keeps its previous value.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from apiext.api.authentication.request_header import RequestHeaders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAMESPACE: Final = "kube-system"
NAME: Final = "extension-apiserver-authentication"


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """The content of the ConfigMap; empty before the first read."""

    client_ca: str = ""
    """Certificate authorities of clients, in PEM."""
    proxy_ca: str = ""
    """Certificate authorities of front proxies, in PEM."""
    proxy_names: frozenset[str] = frozenset()
    """Common names of front proxies; empty for any."""
    headers: RequestHeaders = field(default_factory=RequestHeaders)

    def updated(self, config_map: Mapping[str, Any]) -> tuple[ClusterConfig, list[str]]:
        """Return the configuration after a change of the ConfigMap, and a message for each invalid entry."""
        data: Mapping[str, Any] = config_map.get("data") or {}
        entries: tuple[Callable[[], ClusterConfig], ...] = (
            lambda: replace(config, client_ca=_certificate_authorities(data, "client-ca-file")),
            lambda: replace(config, proxy_ca=_certificate_authorities(data, "requestheader-client-ca-file")),
            lambda: replace(config, proxy_names=frozenset(_strings(data, "requestheader-allowed-names")), headers=_headers(data)),
        )
        config, problems = self, []
        for entry in entries:
            try:
                config = entry()
            except ValueError as error:
                problems.append(str(error))
        return config, problems


def _headers(data: Mapping[str, Any]) -> RequestHeaders:
    return RequestHeaders(
        username=_strings(data, "requestheader-username-headers"),
        uid=_strings(data, "requestheader-uid-headers"),
        group=_strings(data, "requestheader-group-headers"),
        extra_prefixes=_strings(data, "requestheader-extra-headers-prefix"),
    )


def _certificate_authorities(data: Mapping[str, Any], key: str) -> str:
    # the import takes 50 ms: only with a ConfigMap
    from cryptography import x509

    pem = str(data.get(key) or "")
    if not pem:
        raise ValueError(f"{key}: missing")
    try:
        x509.load_pem_x509_certificates(pem.encode())
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from error
    return pem


def _strings(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    text = data.get(key) or ""
    if not text:
        return ()
    try:
        found = orjson.loads(text)
    except ValueError as error:
        raise ValueError(f"{key}: invalid JSON") from error
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ValueError(f"{key}: not a list of strings")
    return tuple(found)
