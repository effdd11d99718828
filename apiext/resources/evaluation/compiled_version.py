"""The versions of a definition, compiled: codecs, strategies and field managers (apiextensions-apiserver customresource_handler.go).

A compiled version decodes, prunes, defaults and validates objects without a request and a store.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.gvk import GroupVersionKind
from apiext.resources.conversion.factory import ConvertedVersions
from apiext.resources.managedfields.field_manager import FieldManager
from apiext.resources.managedfields.field_set import LEAF, from_paths, union
from apiext.resources.managedfields.structural_types import from_schema
from apiext.resources.managedfields.versions import CustomResourceVersions
from apiext.resources.registry.customresources.codec import CustomResourceCodec
from apiext.resources.registry.customresources.strategy import CustomResourceStrategy, ScalePaths, StatusStrategy
from apiext.resources.registry.metadata import before_update, own
from apiext.resources.registry.request_context import RequestContext
from apiext.resources.registry.strategy import Strategy
from apiext.schema.compiled import CompiledSchema
from apiext.schema.keywords import JUNCTORS
from apiext.schema.pattern import PatternError
from apiext.schema.validation.checker import compile_check
from apiext.schema.validation.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.resources.conversion.interface import Converter
    from apiext.resources.definitions.definition import Definition, Version
    from apiext.resources.managedfields.merge_types import MergeType
    from apiext.schema.model import Props
    from apiext.storage.interface import RemoteCodec

STATUS: Final = "status"
"""The subresource and the member."""
_OF_STATUS: Final = from_paths(("f:status",))
_NOT_OF_STATUS: Final = from_paths(("f:metadata",), ("f:spec",))
"""Fields of the resource and of its status that the strategies reset."""
_ABOUT_MEMBERS: Final = frozenset({"required", "minProperties", "maxProperties", "enum", "x-kubernetes-validations", *JUNCTORS, "not"})
"""Keywords of the root that may concern the status."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a write is refused."""

    status: errors.StatusError
    """The answer of the server."""
    errors: Sequence[FieldError]
    """The violations by the content of the object; those of its metadata are in the answer only."""


@dataclass(frozen=True)
class CompiledVersion:
    """One version of a definition: what a server does to its objects. Each schema is compiled at first use."""

    definition: Definition
    version: Version
    converter: Converter
    codec: CustomResourceCodec
    strategies: Mapping[str, Strategy]
    """The strategies of the resource ("") and of its status, if it has that subresource."""
    schema: CompiledSchema
    types: CustomResourceVersions
    """The merge types of all versions."""
    _fields: dict[str, FieldManager] = field(default_factory=dict, repr=False, compare=False)

    @property
    def name(self) -> str:
        """Return the name of the version."""
        return self.version.name

    @property
    def kind(self) -> GroupVersionKind:
        """Return the kind of the objects in this version."""
        return self.codec.gvk

    def has(self, subresource: str) -> bool:
        """Return whether there is a subresource with the content of the object: "" is the resource itself."""
        return subresource in self.strategies

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
        self.strategies[""].prepare_for_create(ctx, obj)
        return self.strategies[""].validate(ctx, obj)

    def content_errors(self, body: Object) -> list[FieldError]:
        """Return the reasons why a create of a decoded body is refused, then or when its status is set if that is a subresource."""
        found = self.create_errors(body)
        if self.has(STATUS) and STATUS in body:
            # a create ignores the status
            found += self.strategies[""].validate(RequestContext(namespace=self._namespace(body)), body)
        return found

    def update(self, obj: Object, existing: Object, subresource: str = "") -> tuple[Object, list[str], Refusal | None]:
        """Return the object that an update with a decoded body stores, the warnings of tolerated rules, and why it is refused.

        The object's top level and metadata are a copy.
        """
        new, old = own(obj), own(existing)
        ctx = RequestContext(namespace=self._namespace(old), subresource=subresource)
        recorder = _Recorder(self.strategies[subresource])
        try:
            before_update(ctx, new, old, recorder, namespaced=self.definition.namespaced)
        except errors.StatusError as error:
            return new, ctx.warnings, Refusal(error, recorder.errors)
        return new, ctx.warnings, None

    @cached_property
    def merge_type(self) -> MergeType:
        """Return the type by which the fields of objects are merged and owned."""
        return from_schema(self.schema.structural if self.schema.structural.raw else None, preserve=self.schema.preserve_unknown_fields)

    def cost_share(self, obj: Object, *, exact: bool) -> float:
        """Return the part of its budget that the rules of an object use, 1 for all of it. Unless `exact`, it may be too large."""
        # imported with the first rules
        from apiext.schema.cel.rules.budget import MAX_CALL_COST, MAX_OBJECT_COST

        costs = self.schema.rule_costs(obj, exact=exact)
        return max(costs.spent / MAX_OBJECT_COST, costs.largest / MAX_CALL_COST)

    def fields(self, subresource: str = "") -> FieldManager:
        """Return the manager of the fields of a subresource. What the strategies reset and what is carried has no manager."""
        if subresource not in self._fields:
            self._fields[subresource] = self._field_manager(subresource)
        return self._fields[subresource]

    def _field_manager(self, subresource: str) -> FieldManager:
        definition, version = self.definition, self.version
        if subresource:
            reset = {f"{definition.group}/{other.name}": _NOT_OF_STATUS for other in definition.versions if other.has_status}
        else:
            reset = {self.kind.api_version: _OF_STATUS} if version.has_status else {}
        carrying = self.converter.carrying
        if carrying is not None:
            # imported with the first rules
            from apiext.resources.conversion.rules.model import CARRIED

            carried = from_paths(("f:metadata", "f:annotations", f"f:{CARRIED}"))
            names = [f"{definition.group}/{other.name}" for other in definition.versions]
            reset = {name: union(reset.get(name, LEAF), carried) for name in names}
        return FieldManager(self.kind, self.types, reset, subresource=subresource, carrying=carrying)

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


def compile_version(
    definition: Definition, version: Version, converter: Converter, *, cbor: bool = False, remote: RemoteCodec | None = None
) -> CompiledVersion:
    """Return one version of a definition, which stores CBOR if `cbor` is set. `remote` is the codec's copy in worker processes."""
    roots = _root_schemas(definition)
    schemas = _compiled(definition, roots)
    codec = CustomResourceCodec(
        kind=GroupVersionKind(definition.group, version.name, definition.names.kind),
        storage_version=definition.storage_version.name,
        schemas=schemas,
        converter=converter,
        namespaced=definition.namespaced,
        selectable_fields=version.selectable_fields,
        cbor=cbor,
        remote=remote,
    )
    rules = schemas[version.name]
    main = CustomResourceStrategy(
        kind=codec.gvk,
        namespaced=definition.namespaced,
        rules=rules,
        has_status=version.has_status,
        scale=scale_paths(version),
        carrying=converter.carrying,
    )
    strategies: dict[str, Strategy] = {"": main}
    if version.has_status:
        strategies[STATUS] = StatusStrategy(main)
    types = CustomResourceVersions(
        codec.gvk,
        {f"{definition.group}/{name}": schema.structural if roots[name] else None for name, schema in schemas.items()},
        converter,
        codec.complete,
        preserve_unknown_fields=definition.preserve_unknown_fields,
        is_surely_typed=rules.is_surely_typed,
        is_known_typed=rules.is_known_typed,
    )
    return CompiledVersion(definition, version, converter, codec, strategies, rules, types)


def value_check(schema: Props) -> Callable[[Any], bool]:
    """Return a function that reports whether a value fits a schema. A value whose pattern cannot be evaluated does."""
    check = compile_check(Spec(schema, served=True))

    def fits(value: Any) -> bool:
        try:
            return check(value)
        except PatternError:
            return True

    return fits


def version_schemas(definition: Definition) -> dict[str, CompiledSchema]:
    """Return the schemas of all versions: stored objects may have any version. Each is compiled at first use."""
    return _compiled(definition, _root_schemas(definition))


def converted_versions(definition: Definition) -> ConvertedVersions:
    """Return what conversion rules must know of a definition."""
    names = [version.name for version in definition.versions]
    return ConvertedVersions(partial(version_schemas, definition), names, definition.storage_version.name)


def scale_paths(version: Version) -> ScalePaths | None:
    """Return the paths of the scale subresource, or None without one."""
    scale = version.scale
    if scale is None:
        return None
    return ScalePaths(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", ""))


def _root_schemas(definition: Definition) -> dict[str, Props | None]:
    """Return the schemas of all versions. The definition is parsed once for all."""
    return {version["name"]: (version.get("schema") or {}).get("openAPIV3Schema") for version in definition.object["spec"]["versions"]}


def _compiled(definition: Definition, roots: Mapping[str, Props | None]) -> dict[str, CompiledSchema]:
    preserve = definition.preserve_unknown_fields
    return {name: CompiledSchema(root, preserve_unknown_fields=preserve) for name, root in roots.items()}
