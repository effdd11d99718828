"""A definition as a server serves it, without a store: reads stored bytes in all versions, and prepares and validates writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from apiext.base.meta import errors
from apiext.base.meta.encoding import json_values
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.none import NoneConverter
from apiext.resources.evaluation.compiled_version import CompiledVersion, compile_version
from apiext.storage.errors import CorruptObjectError
from apiext.storage.rendering.renderer import DECODING_ERRORS, Renderer

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.interface import Converter
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.registry.customresources.codec import CustomResourceCodec

_REVISION: Final = 1
"""The resourceVersion of all objects."""


class SilentHook(Protocol):
    """A webhook that may not answer."""

    silence: str
    """The error of the unanswered calls, "" while it answers."""


@dataclass(slots=True)
class DefinitionConverter:
    """A definition's converter. If it is missing, objects can be read in the version of their bytes only."""

    converter: Converter
    refusal: str = ""
    """Why no webhook is called."""
    hook: SilentHook | None = None
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
