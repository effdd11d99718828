"""A definition as a server serves it, without a store: reads stored bytes in all versions, converts, and prepares and validates writes."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta import errors
from apiext.base.meta.encoding import json_values
from apiext.resources.conversion.circuits import ConversionCircuits, GuardedHook
from apiext.resources.conversion.factory import ConverterFactory
from apiext.resources.conversion.interface import ConversionError, Converter
from apiext.resources.conversion.known import Origin
from apiext.resources.conversion.none import NoneConverter
from apiext.resources.evaluation.compiled_version import CompiledVersion, compile_version, converted_versions
from apiext.storage.errors import CorruptObjectError
from apiext.storage.rendering.renderer import DECODING_ERRORS, Renderer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.scheduling.call_log import CallLog
    from apiext.base.webhook.circuit_breaker import CircuitBreaker
    from apiext.base.webhook.host_addresses import ServiceAddresses
    from apiext.resources.conversion.calls import Hook
    from apiext.resources.conversion.interface import Converted
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.registry.customresources.codec import CustomResourceCodec

NOT_CALLED: Final = "its conversion webhook is not called: give its URL with --webhook-url"
_REVISION: Final = 1
"""The resourceVersion of all objects."""


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
class DefinitionConverter:
    """A definition's converter. If it is missing, objects can be read in the version of their bytes only."""

    converter: Converter
    refusal: str = ""
    """Why no webhook is called."""
    hook: _HeardHook | None = None
    """The webhook that is called."""

    @property
    def is_webhook(self) -> bool:
        """Return whether a webhook, or rules, convert: more than the version may change."""
        return not isinstance(self.converter, NoneConverter)

    @property
    def missing(self) -> str:
        """Return why no object can be converted at present: the webhook is not called, or does not answer. Return "" if they can."""
        if self.hook is not None and self.hook.silence:
            return f"its conversion webhook does not answer: {self.hook.silence}"
        return self.refusal


class CompiledDefinition:
    """All versions of a definition, compiled at first use. Without a converter, only apiVersion differs between versions."""

    def __init__(self, definition: Definition, converter: DefinitionConverter | None = None) -> None:
        self.definition = definition
        self.converter = converter or DefinitionConverter(NoneConverter())
        self.names = tuple(version.name for version in definition.versions)
        self.served = tuple(version.name for version in definition.served_versions)
        self.storage = definition.storage_version.name
        self._versions: dict[str, CompiledVersion] = {}
        self._renderer = Renderer("")

    def version(self, name: str) -> CompiledVersion:
        """Return a version, served or not."""
        found = self._versions.get(name)
        if found is None:
            found = self._versions[name] = self._build(name)
        return found

    def _build(self, name: str) -> CompiledVersion:
        version = self.definition.version(name)
        if version is None:
            raise KeyError(name)
        return compile_version(self.definition, version, self.converter.converter)

    def has(self, api_version: str) -> bool:
        """Return whether the definition has a version, given as apiVersion."""
        group, _, name = api_version.rpartition("/")
        return group == self.definition.group and name in self.names

    async def read(self, name: str, stored: Sequence[bytes]) -> list[Object | Exception]:
        """Return stored objects as reads in a version give them. An error stands in the place of each unreadable one."""
        renderer, codec = self._renderer, self.version(name).codec
        found: list[Object | Exception] = []
        for data in stored:
            try:
                found.append(renderer.decode(codec, "", data, _REVISION))
            except CorruptObjectError as error:
                found.append(error.__cause__ if isinstance(error.__cause__, Exception) else error)
        return await self.convert(name, found)

    def reread(self, name: str, written: Object, readers: Collection[str]) -> dict[str, Object]:
        """Return what reads in versions give of an object that a write in a version has prepared, with conversion strategy None.

        Raises:
            ValueError: it cannot be stored or read.
        """
        try:
            data = self.version(name).codec.encode(written).data
            return {reader: self.version(reader).codec.decode(data) for reader in readers}
        except DECODING_ERRORS as error:
            raise ValueError(str(error)) from error

    async def convert(self, name: str, objects: Sequence[Object | Exception]) -> list[Object | Exception]:
        """Return objects of any version in a version, converted by one call. Errors stay. The objects may be changed."""
        conversion = self.version(name).codec.conversion
        if conversion is None:
            return [*objects]
        converted = iter(await conversion.from_storage([obj for obj in objects if not isinstance(obj, Exception)]))
        return [obj if isinstance(obj, Exception) else next(converted) for obj in objects]

    async def store(self, name: str, objects: Sequence[Object | Exception]) -> list[bytes | Exception]:
        """Return the bytes that writes of decoded objects in a version store, converted by one call."""
        version = self.version(name)
        sent = list(objects)
        if version.codec.conversion is not None and name != self.storage:
            sent = await self.convert(self.storage, [obj if isinstance(obj, Exception) else json_values.copy(obj) for obj in sent])
        return [obj if isinstance(obj, Exception) else _encoded(version.codec, obj) for obj in sent]


def is_unconvertible(found: object) -> bool:
    """Report whether a read has failed because the object could not be converted."""
    return isinstance(found, ConversionError)


def _encoded(codec: CustomResourceCodec, obj: Object) -> bytes | Exception:
    try:
        return codec.encode(obj).data
    except (ValueError, errors.StatusError) as error:
        return error


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
