"""The converters of the old and the new definition, and why one is missing."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.conversion.factory import ConverterFactory
from apiext.conversion.interface import ConversionError
from apiext.conversion.none import NoneConverter

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from apiext.conversion.circuits import ConversionCircuits
    from apiext.conversion.interface import Converted, Converter
    from apiext.definitions.definition import Definition
    from apiext.meta.encoding.json_codec import Object
    from apiext.scheduling.call_log import CallLog
    from apiext.webhook.service_addresses import ServiceAddresses

NOT_CALLED: Final = "its conversion webhook is not called: give its URL with --webhook-url"


@dataclass(slots=True)
class JudgedConverter:
    """A definition's converter. If it is missing, objects are judged in the version of their bytes only."""

    converter: Converter
    refusal: str = ""
    """Why no webhook is called."""
    name: str = ""
    circuits: ConversionCircuits | None = None
    """The circuits of webhooks; the definition's has this name."""

    @property
    def is_webhook(self) -> bool:
        """Return whether a webhook converts."""
        return not isinstance(self.converter, NoneConverter)

    @property
    def missing(self) -> str:
        """Return why no object can be converted at present: the webhook is not called, or does not answer. Return "" if they can."""
        circuit = self.circuits.of(self.name) if self.circuits is not None else None
        if circuit is not None and circuit.error is not None:
            return f"its conversion webhook does not answer: {circuit.error}"
        return self.refusal


@dataclass(slots=True)
class Converters:
    """The converters of both definitions."""

    old: JudgedConverter
    new: JudgedConverter


class RefusingConverter:
    """Implements Converter: no object can be converted."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def convert(self, objects: Sequence[Object], _api_version: str, _log: CallLog | None = None) -> Sequence[Converted]:
        """Implement Converter.convert."""
        return [ConversionError(self._reason) for _ in objects]


@asynccontextmanager
async def open_converters(
    old: Definition | None,
    new: Definition,
    *,
    webhook: Mapping[str, Any] | None = None,
    old_webhook: Mapping[str, Any] | None = None,
    services: ServiceAddresses | None = None,
    calls: bool = True,
) -> AsyncGenerator[Converters]:
    """Yield the converters of two definitions, and close their connections at the end.

    `webhook` and `old_webhook` are clientConfigs in place of those of the definitions. `services` has the addresses of Services.
    Without `calls`, no webhook is called but these.
    """
    factories = ConverterFactory(services), ConverterFactory(services)
    try:
        yield Converters(
            old=JudgedConverter(NoneConverter()) if old is None else _converter(factories[0], old, old_webhook, calls=calls),
            new=_converter(factories[1], new, webhook, calls=calls),
        )
    finally:
        for factory in factories:
            await factory.close()


def _converter(factory: ConverterFactory, definition: Definition, client: Mapping[str, Any] | None, *, calls: bool) -> JudgedConverter:
    conversion = definition.head["spec"]["conversion"]
    if conversion["strategy"] == "None":
        return JudgedConverter(NoneConverter())
    if client is not None:
        conversion = conversion | {"webhook": conversion["webhook"] | {"clientConfig": client}}
    elif not calls:
        return JudgedConverter(RefusingConverter(NOT_CALLED), refusal=NOT_CALLED)
    try:
        converter = factory.converter(definition.name, conversion)
    except ValueError as error:
        refusal = f"its conversion webhook cannot be used: {error}"
        return JudgedConverter(RefusingConverter(refusal), refusal=refusal)
    return JudgedConverter(converter, name=definition.name, circuits=factory.circuits)
