"""What a cluster tells the API servers behind it about how its clients and its front proxy are known.

Mirrors apiserver pkg/authentication/request/headerrequest (requestheader_controller.go) and pkg/server/dynamiccertificates
(configmap_cafile_content.go): what is missing or cannot be read leaves in force what was there before.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from apiext.authentication.request_header import RequestHeaders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAMESPACE: Final = "kube-system"
NAME: Final = "extension-apiserver-authentication"


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """The cluster's word; empty until it has been read."""

    client_ca: str = ""
    """Authorities of client certificates, in PEM."""
    proxy_ca: str = ""
    """Authorities of front proxies, in PEM."""
    proxy_names: frozenset[str] = frozenset()
    """Common names of front proxies; empty for any."""
    headers: RequestHeaders = field(default_factory=RequestHeaders)

    def updated(self, config_map: Mapping[str, Any]) -> tuple[ClusterConfig, list[str]]:
        """What holds after a change of the ConfigMap, and what is wrong with it."""
        data: Mapping[str, Any] = config_map.get("data") or {}
        takes: tuple[Callable[[], ClusterConfig], ...] = (
            lambda: replace(config, client_ca=_authorities(data, "client-ca-file")),
            lambda: replace(config, proxy_ca=_authorities(data, "requestheader-client-ca-file")),
            lambda: replace(config, proxy_names=frozenset(_texts(data, "requestheader-allowed-names")), headers=_headers(data)),
        )
        config, problems = self, []
        for take in takes:
            try:
                config = take()
            except ValueError as error:
                problems.append(str(error))
        return config, problems


def _headers(data: Mapping[str, Any]) -> RequestHeaders:
    return RequestHeaders(
        username=_texts(data, "requestheader-username-headers"),
        uid=_texts(data, "requestheader-uid-headers"),
        group=_texts(data, "requestheader-group-headers"),
        extra_prefixes=_texts(data, "requestheader-extra-headers-prefix"),
    )


def _authorities(data: Mapping[str, Any], key: str) -> str:
    # loaded where a cluster is asked, which is seldom
    from cryptography import x509

    pem = str(data.get(key) or "")
    if not pem:
        raise ValueError(f"{key}: it is missing")
    try:
        x509.load_pem_x509_certificates(pem.encode())
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from error
    return pem


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    text = data.get(key) or ""
    if not text:
        return ()
    try:
        found = orjson.loads(text)
    except ValueError as error:
        raise ValueError(f"{key}: it is no JSON") from error
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ValueError(f"{key}: it is no list of texts")
    return tuple(found)
