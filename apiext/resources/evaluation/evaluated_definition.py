"""A definition as a server serves it, without a store: reads stored bytes, and prepares and validates writes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec, json_values
from apiext.resources.evaluation.compiled_version import STATUS, CompiledVersion, compile_version
from apiext.resources.registry.metadata import before_update, own
from apiext.resources.registry.request_context import RequestContext
from apiext.resources.registry.strategy import Strategy
from apiext.schema.keywords import JUNCTORS
from apiext.storage.errors import CorruptObjectError
from apiext.storage.rendering.renderer import Renderer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.resources.conversion.interface import Converter
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.managedfields.field_manager import FieldManager
    from apiext.resources.registry.customresources.codec import CustomResourceCodec

_ABOUT_MEMBERS: Final = frozenset({"required", "minProperties", "maxProperties", "enum", "x-kubernetes-validations", *JUNCTORS, "not"})
"""Keywords of the root that may concern the status."""
_REVISION: Final = 1
"""The resourceVersion of all objects."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a write is refused."""

    status: errors.StatusError
    """The answer of the server."""
    errors: Sequence[FieldError]
    """The violations by the content of the object; those of its metadata are in the answer only."""


class EvaluatedVersion:
    """One version of a definition."""

    def __init__(self, compiled: CompiledVersion) -> None:
        self.name = compiled.version.name
        self.served = compiled.version.served
        self.kind = compiled.kind
        self.api_version = compiled.kind.api_version
        self.codec = compiled.codec
        self.strategy = compiled.strategies[""]
        self.schema = compiled.rules
        self._compiled = compiled
        self._fields: dict[str, FieldManager] = {}
        self._namespaced = compiled.definition.namespaced

    def has(self, subresource: str) -> bool:
        """Return whether there is a subresource with the content of the object: "" is the resource itself."""
        return subresource in self._compiled.strategies

    def fields(self, subresource: str = "") -> FieldManager:
        """Return the manager of the fields of a subresource that exists."""
        if subresource not in self._fields:
            self._fields[subresource] = self._compiled.fields(subresource)
        return self._fields[subresource]

    @cached_property
    def creates_like_updates(self) -> bool:
        """Return whether a create of an object surely passes if an update passes that tolerates nothing.

        A create lacks the status, which the root may demand, and rules may see that there is no old object.
        """
        raw = self.schema.structural.raw
        ignores_status = not self.has(STATUS) or not raw.keys() & _ABOUT_MEMBERS
        return ignores_status and b"optionalOldSelf" not in json_codec.dumps(raw)

    def is_valid(self, obj: Object) -> bool:
        """Return whether an object surely satisfies the schema, apart from rules."""
        return self.schema.is_valid(obj) and not self.schema.validate_lists(obj)

    def body(self, obj: Object) -> Object:
        """Return an object of this version as a request's body is decoded: with the version's defaults. It may share members with `obj`.

        Raises:
            ValueError: the object cannot be decoded.
        """
        if self.schema.is_canonical(obj):
            return obj
        return self.decode(obj)[0]

    def decode(self, obj: Object) -> tuple[Object, list[str]]:
        """Return a copy of an object of this version as a request's body is decoded, and the messages about unknown fields.

        Raises:
            ValueError: the object cannot be decoded.
        """
        decoded: Object = json_values.copy(obj)
        unknown = self.codec.decode_body(decoded, True)  # noqa: FBT003 the codec's interface
        return decoded, unknown

    def create_errors(self, body: Object) -> list[FieldError]:
        """Return the reasons why a create of a decoded body is refused."""
        obj = own(body)
        obj["metadata"].pop("resourceVersion", None)
        ctx = RequestContext(namespace=self._namespace(obj))
        self.strategy.prepare_for_create(ctx, obj)
        return self.strategy.validate(ctx, obj)

    def update(self, obj: Object, existing: Object, subresource: str = "") -> tuple[Object, list[str], Refusal | None]:
        """Return the object that an update with a decoded body stores, the warnings of tolerated rules, and why it is refused.

        The object's top level and metadata are a copy.
        """
        new, old = own(obj), own(existing)
        ctx = RequestContext(namespace=self._namespace(old), subresource=subresource)
        recorder = _Recorder(self._compiled.strategies[subresource])
        try:
            before_update(ctx, new, old, recorder, namespaced=self._namespaced)
        except errors.StatusError as error:
            return new, ctx.warnings, Refusal(error, recorder.errors)
        return new, ctx.warnings, None

    def _namespace(self, obj: Object) -> str:
        return str(obj["metadata"].get("namespace") or "")


class _Recorder(Strategy):
    """Keeps the errors that a strategy returns."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self.errors: list[FieldError] = []
        self.distinct_errors = strategy.distinct_errors

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """See Strategy.prepare_for_update."""
        self._strategy.prepare_for_update(ctx, obj, old)

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """See Strategy.validate_update."""
        self.errors = self._strategy.validate_update(ctx, obj, old, metadata_errors)
        return self.errors

    def warnings_on_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[str]:
        """See Strategy.warnings_on_update. Finalizers concern no rule."""
        return []

    def canonicalize(self, obj: Object) -> None:
        """See Strategy.canonicalize."""
        self._strategy.canonicalize(obj)


class EvaluatedDefinition:
    """All versions of a definition, compiled at first use."""

    def __init__(self, definition: Definition, converter: Converter) -> None:
        self.definition = definition
        self._converter = converter
        self.names = tuple(version.name for version in definition.versions)
        self.served = tuple(version.name for version in definition.served_versions)
        self.storage = definition.storage_version.name
        self._versions: dict[str, EvaluatedVersion] = {}
        self._renderer = Renderer("")

    def version(self, name: str) -> EvaluatedVersion:
        """Return a version, served or not."""
        found = self._versions.get(name)
        if found is None:
            found = self._versions[name] = self._build(name)
        return found

    def _build(self, name: str) -> EvaluatedVersion:
        version = self.definition.version(name)
        if version is None:
            raise KeyError(name)
        return EvaluatedVersion(compile_version(self.definition, version, self._converter))

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


def _encoded(codec: CustomResourceCodec, obj: Object) -> bytes | Exception:
    try:
        return codec.encode(obj).data
    except (ValueError, errors.StatusError) as error:
        return error
