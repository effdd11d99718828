"""A definition as a server serves it, without a store: reads stored bytes, and prepares and validates writes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

from apiext.admission.attributes import Admission
from apiext.meta import errors
from apiext.meta.encoding import json_codec, json_values
from apiext.registry.customresources.codec import CustomResourceCodec
from apiext.registry.customresources.strategy import CustomResourceStrategy
from apiext.registry.metadata import before_update, own
from apiext.registry.request_context import RequestContext
from apiext.registry.strategy import Strategy
from apiext.schema.keywords import JUNCTORS
from apiext.serving.builder import build_version
from apiext.serving.info import ServingInfo
from apiext.storage.errors import CorruptObjectError
from apiext.storage.rendering.renderer import Renderer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.definitions.definition import Definition
    from apiext.endpoints.scopes.scope import Scope
    from apiext.lab.judgement.converters import JudgedConverter
    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.field import FieldError
    from apiext.registry.rest import ResourceRest
    from apiext.schema.compiled import CompiledSchema
    from apiext.storage.interface import Store

STATUS: Final = "status"
"""The subresource and the member."""
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


class JudgedVersion:
    """One version of a definition."""

    def __init__(self, scopes: dict[str, Scope], *, name: str, served: bool) -> None:
        self.name = name
        self.served = served
        self.scopes = scopes
        """Scopes by subresource."""
        main = scopes[""]
        rest = cast("ResourceRest", main.rest)
        self.api_version = main.api_version
        self.codec = cast("CustomResourceCodec", rest.codec)
        self.strategy = cast("CustomResourceStrategy", rest.strategy)
        self.schema: CompiledSchema = self.strategy.rules
        self._namespaced = main.namespaced

    @cached_property
    def creates_like_updates(self) -> bool:
        """Return whether a create of an object surely passes if an update passes that tolerates nothing.

        A create lacks the status, which the root may demand, and rules may see that there is no old object.
        """
        raw = self.schema.structural.raw
        ignores_status = STATUS not in self.scopes or not raw.keys() & _ABOUT_MEMBERS
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
        recorder = _Recorder(cast("ResourceRest", self.scopes[subresource].rest).strategy)
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


class JudgedDefinition:
    """All versions of a definition, compiled at first use."""

    def __init__(self, definition: Definition, converter: JudgedConverter) -> None:
        self.definition = definition
        self.converter = converter
        self.names = tuple(version.name for version in definition.versions)
        self.served = tuple(version.name for version in definition.served_versions)
        self.storage = definition.storage_version.name
        self._info = ServingInfo(definition)
        self._versions: dict[str, JudgedVersion] = {}
        self._renderer = Renderer("")

    def version(self, name: str) -> JudgedVersion:
        """Return a version, served or not."""
        found = self._versions.get(name)
        if found is None:
            found = self._versions[name] = self._build(name)
        return found

    def _build(self, name: str) -> JudgedVersion:
        version = self.definition.version(name)
        if version is None:
            raise KeyError(name)
        # nothing is stored, and nobody else is asked
        store = cast("Store", None)
        built = build_version(self._info, version, store, Admission(), self.converter.converter)
        return JudgedVersion(dict(built.scopes), name=name, served=version.served)

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


def stored_bytes(obj: Object) -> bytes:
    """Return the JSON of an object."""
    return json_codec.dumps(obj)
