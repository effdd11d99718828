"""The converter of a definition (CRConverterFactory of conversion/converter.go)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from apiext.base.cert import certificate
from apiext.base.webhook.tls_errors import PeerCertificate
from apiext.resources.conversion.circuits import ConversionCircuits
from apiext.resources.conversion.known import KnownConversions
from apiext.resources.conversion.metrics import ConversionStats
from apiext.resources.conversion.none import NoneConverter
from apiext.resources.conversion.unknown import UnknownConverter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from apiext.base.webhook.hook_client import HookClients
    from apiext.base.webhook.host_addresses import ServiceAddresses
    from apiext.resources.conversion.interface import Converter
    from apiext.resources.conversion.known import KnownConversion
    from apiext.resources.conversion.webhook import WebhookConverter
    from apiext.schema.compiled import CompiledSchema


@dataclass(frozen=True, slots=True)
class ConvertedVersions:
    """What rules must know of a definition."""

    schemas: Callable[[], Mapping[str, CompiledSchema]]
    """Returns the schemas of all versions by name."""
    names: Collection[str]
    storage: str
    """The storage version."""


class ConverterFactory:
    """Makes converters, and owns the connections to their webhooks."""

    def __init__(self, services: ServiceAddresses | None = None, circuits: ConversionCircuits | None = None) -> None:
        """Create the factory. `services` overrides the addresses of Services."""
        self.known = KnownConversions()
        """The Conversions whose rules are used instead of webhooks and of strategy None."""
        self.stats = ConversionStats()
        self.circuits = circuits or ConversionCircuits()
        self._services = services or {}
        self._clients: HookClients | None = None
        self._converters: WeakValueDictionary[str, WebhookConverter] = WeakValueDictionary()
        """Converters in use, by definition: all versions of a definition share one until its conversion changes."""

    def converter(self, name: str, conversion: Mapping[str, Any], versions: ConvertedVersions) -> Converter:
        """Return the converter of a definition: by its rules if there are any, else for its spec.conversion.

        Raises:
            ValueError: the clientConfig of its webhook cannot be used.
        """
        if self.known.missing and len(versions.names) > 1:
            return UnknownConverter(self.known.missing)
        known = self.known.of(name)
        if known is not None:
            return self._rules(known, versions)
        if lacks := self.known.lacks(name):
            return UnknownConverter(lacks)
        if conversion["strategy"] == "None":
            return NoneConverter()
        converter = self._converters.get(name)
        if converter is None or converter.conversion != conversion:
            converter = self._converters[name] = self._webhook(name, conversion)
        return converter

    def _rules(self, known: KnownConversion, versions: ConvertedVersions) -> Converter:
        # Imported with the first rules: most servers have none.
        from apiext.resources.conversion.rules.building import build_rules

        in_use, stats = self.known.is_in_use(known), self.stats.rules
        built = build_rules(known.name, known.document, versions.schemas(), versions.storage, in_use=in_use, stats=stats)
        if built.report.is_valid:
            self.known.in_use.begin(known)
        elif not built.converts:
            self.known.in_use.refuse(known)
        return built.converter

    def _webhook(self, name: str, conversion: Mapping[str, Any]) -> WebhookConverter:
        # Imported with the first webhook: most servers call none.
        from apiext.base.webhook.client_config import parse_client_config
        from apiext.base.webhook.hook_client import HookClients
        from apiext.resources.conversion.calls import CountedCalls
        from apiext.resources.conversion.webhook import WebhookConverter

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
