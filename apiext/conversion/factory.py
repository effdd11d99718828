"""The converter of a definition (CRConverterFactory of conversion/converter.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from apiext.cert import certificate
from apiext.conversion.circuits import ConversionCircuits
from apiext.conversion.metrics import ConversionStats
from apiext.conversion.none import NoneConverter
from apiext.webhook.tls_errors import PeerCertificate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.conversion.interface import CopiedConverter
    from apiext.conversion.webhook import WebhookConverter
    from apiext.webhook.hook_client import HookClients
    from apiext.webhook.service_addresses import ServiceAddresses


class ConverterFactory:
    """Makes converters, and owns the connections to their webhooks."""

    def __init__(self, services: ServiceAddresses | None = None, circuits: ConversionCircuits | None = None) -> None:
        """Create the factory. `services` overrides the addresses of Services."""
        self.stats = ConversionStats()
        self.circuits = circuits or ConversionCircuits()
        self._services = services or {}
        self._clients: HookClients | None = None
        self._converters: WeakValueDictionary[str, WebhookConverter] = WeakValueDictionary()
        """Converters in use, by definition: all versions of a definition share one until its conversion changes."""

    def converter(self, name: str, conversion: Mapping[str, Any]) -> CopiedConverter:
        """Return the converter for the spec.conversion of a definition.

        Raises:
            ValueError: the clientConfig of its webhook cannot be used.
        """
        if conversion["strategy"] == "None":
            return NoneConverter()
        converter = self._converters.get(name)
        if converter is None or converter.conversion != conversion:
            converter = self._converters[name] = self._webhook(name, conversion)
        return converter

    def _webhook(self, name: str, conversion: Mapping[str, Any]) -> WebhookConverter:
        # Imported with the first webhook: most servers call none.
        from apiext.conversion.calls import CountedCalls
        from apiext.conversion.webhook import WebhookConverter
        from apiext.webhook.client_config import parse_client_config
        from apiext.webhook.hook_client import HookClients

        if self._clients is None:
            self._clients = HookClients(self._services, read_certificate)
        hook = self._clients.client(parse_client_config(conversion["webhook"]["clientConfig"]))
        return WebhookConverter(name, conversion, CountedCalls(self.circuits.guard(name, conversion, hook), self.stats))

    async def close(self) -> None:
        """Close the connections to webhooks."""
        if self._clients is not None:
            await self._clients.close()


def read_certificate(pem: str) -> PeerCertificate:
    """Return what errors about calls say of a certificate in PEM."""
    return PeerCertificate(certificate.hosts_of(pem), certificate.validity(pem))
