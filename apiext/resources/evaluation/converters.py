"""The converters of a definition and the one that replaces it, and why one is missing."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.resources.conversion.circuits import ConversionCircuits, GuardedHook
from apiext.resources.conversion.factory import ConverterFactory
from apiext.resources.conversion.interface import ConversionError, Converter
from apiext.resources.conversion.known import Origin
from apiext.resources.conversion.none import NoneConverter
from apiext.resources.evaluation.compiled_definition import DefinitionConverter
from apiext.resources.evaluation.compiled_version import converted_versions

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.scheduling.call_log import CallLog
    from apiext.base.webhook.circuit_breaker import CircuitBreaker
    from apiext.base.webhook.service_addresses import ServiceAddresses
    from apiext.resources.conversion.calls import Hook
    from apiext.resources.conversion.interface import Converted
    from apiext.resources.definitions.definition import Definition

NOT_CALLED: Final = "its conversion webhook is not called: give its URL with --webhook-url"


class _HeardHook(GuardedHook):
    """Calls a webhook until it does not answer. An unanswered call is repeated once."""

    __slots__ = ("silence",)

    def __init__(self, hook: Hook, circuit: CircuitBreaker) -> None:
        super().__init__(hook, circuit)
        self.silence = ""
        """The error of the unanswered calls."""

    async def post(self, body: bytes) -> bytes:
        """Implement Hook.post."""
        # imported with the first webhook, as by the server
        from apiext.base.webhook.hook_answers import HookError

        if self.silence:
            raise HookError(self.silence)
        try:
            return await super().post(body)
        except HookError as error:
            if error.answered:
                raise
        try:
            return await super().post(body)
        except HookError as error:
            if not error.answered:
                self.silence = str(error)
            raise


class _Circuits(ConversionCircuits):
    """Makes hooks that note whether their webhook answers."""

    hook: _HeardHook | None = None

    def guard(self, name: str, conversion: Mapping[str, Any], hook: Hook) -> GuardedHook:
        """Return the hook of the only webhook."""
        self.hook = _HeardHook(hook, super().guard(name, conversion, hook).circuit)
        return self.hook


@dataclass(slots=True)
class Converters:
    """The converters of both definitions."""

    old: DefinitionConverter
    new: DefinitionConverter


class RefusingConverter(Converter):
    """Converts no object."""

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
    rules: tuple[Object | None, Object | None] = (None, None),
) -> AsyncGenerator[Converters]:
    """Yield the converters of two definitions, and close their connections at the end.

    `webhook` and `old_webhook` are clientConfigs in place of those of the definitions. `services` has the addresses of Services.
    Without `calls`, no webhook is called but these. `rules` are the Conversions of the two, which are used instead of webhooks.
    """
    factories = before, after = ConverterFactory(services, _Circuits()), ConverterFactory(services, _Circuits())
    for factory, document, origin in zip(factories, rules, (Origin.OBJECT, Origin.FILE), strict=True):
        if document is not None:
            factory.known.put(origin, document)
    try:
        judged = DefinitionConverter(NoneConverter()) if old is None else _converter(before, old, old_webhook, calls=calls)
        # rules that are in use go on under a changed definition
        after.known.in_use.resume(before.known.in_use.digests({new.name}))
        yield Converters(old=judged, new=_converter(after, new, webhook, calls=calls))
    finally:
        for factory in factories:
            await factory.close()


def _converter(factory: ConverterFactory, definition: Definition, client: Mapping[str, Any] | None, *, calls: bool) -> DefinitionConverter:
    conversion = definition.head["spec"]["conversion"]
    if factory.known.of(definition.name) is not None:
        return DefinitionConverter(factory.converter(definition.name, conversion, converted_versions(definition)))
    if conversion["strategy"] == "None":
        return DefinitionConverter(NoneConverter())
    if client is not None:
        conversion = conversion | {"webhook": conversion["webhook"] | {"clientConfig": client}}
    elif not calls:
        return DefinitionConverter(RefusingConverter(NOT_CALLED), refusal=NOT_CALLED)
    try:
        converter = factory.converter(definition.name, conversion, converted_versions(definition))
    except ValueError as error:
        refusal = f"its conversion webhook cannot be used: {error}"
        return DefinitionConverter(RefusingConverter(refusal), refusal=refusal)
    circuits = factory.circuits
    return DefinitionConverter(converter, hook=circuits.hook if isinstance(circuits, _Circuits) else None)
