"""spec.conversion of the CRDs that are converted here."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from apiext.operator.api_clients import Json
from apiext.operator.conversionserver.cluster_objects import NONE, WEBHOOK, wish_of
from apiext.operator.conversionserver.handler import PATH
from apiext.operator.names import NamespacedName
from apiext.operator.serving_certificate.secret import certificate_hosts
from apiext.resources.conversion.review import VERSIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookTarget:
    """Where kube-apiserver finds this webhook."""

    service: NamespacedName
    port: int = 443
    url: str = ""
    """The URL of the webhook with its path, in place of the Service; "" without one."""

    def __str__(self) -> str:
        return self.url or f"Service {self.service}, port {self.port}"

    def hosts(self) -> list[str]:
        """Return the names that the certificate needs."""
        return [urlsplit(self.url).hostname or ""] if self.url else certificate_hosts(self.service, "")

    def client_config(self) -> Json:
        """Return the clientConfig without caBundle, as kube-apiserver stores it."""
        if self.url:
            return {"url": self.url}
        return {"service": {"namespace": self.service.namespace, "name": self.service.name, "path": PATH, "port": self.port}}

    def is_called_by(self, conversion: Mapping[str, Any]) -> bool:
        """Return whether a spec.conversion calls this webhook."""
        config = _client_config(conversion)
        return conversion.get("strategy") == "Webhook" and {name: config[name] for name in config if name != "caBundle"} == (
            self.client_config()
        )


def changed_conversion(crd: Json, target: WebhookTarget, bundle: str, *, usable: bool) -> Json | None:
    """Return the merge patch of a CRD's spec.conversion, None if it is as it should be.

    A CRD that asks for the webhook gets it once its rules are `usable`. One that calls it keeps a current CA bundle, whatever it asks
    for: its objects would become unreadable. One that asks for `none` gets the strategy None in place of this webhook, but of no other.

    An empty bundle (PEM) leaves the caBundle to others, such as cert-manager.
    """
    conversion, wish = crd["spec"].get("conversion") or {}, wish_of(crd)
    is_ours = target.is_called_by(conversion)
    if wish == NONE:
        return {"strategy": "None", "webhook": None} if is_ours else None
    if wish == WEBHOOK and usable and not (is_ours and _versions(conversion) == list(VERSIONS)):
        config = {"url": None, "service": None, **target.client_config(), **_ca_bundle(bundle)}
        return {"strategy": "Webhook", "webhook": {"clientConfig": config, "conversionReviewVersions": list(VERSIONS)}}
    if is_ours and bundle and _client_config(conversion).get("caBundle") != _ca_bundle(bundle)["caBundle"]:
        return {"webhook": {"clientConfig": _ca_bundle(bundle)}}
    return None


def _ca_bundle(bundle: str) -> dict[str, str]:
    return {"caBundle": base64.b64encode(bundle.encode()).decode()} if bundle else {}


def _client_config(conversion: Mapping[str, Any]) -> Mapping[str, Any]:
    return (conversion.get("webhook") or {}).get("clientConfig") or {}


def _versions(conversion: Mapping[str, Any]) -> list[str]:
    return list((conversion.get("webhook") or {}).get("conversionReviewVersions") or ())
