"""Custom resources without a server, for the tests of authors: `apiext.evaluation`. Nothing here needs an event loop, nor minds one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.encoding.documents import FileProblem
from apiext.base.meta.errors import StatusError
from apiext.base.scheduling.blocking import result_of
from apiext.resources.conversion.none import NoneConverter
from apiext.resources.conversion.unknown import UnknownConverter
from apiext.resources.definitions.codec import GVK
from apiext.resources.definitions.sources import crd_documents
from apiext.resources.evaluation.compiled_definition import CompiledDefinition, DefinitionConverter
from apiext.resources.evaluation.compiled_version import version_schemas
from apiext.resources.evaluation.definition_creation import DefinitionRefusedError, create_definition
from apiext.resources.evaluation.explanation import explain_update
from apiext.schema.cel.rules.budget import MAX_OBJECT_COST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.interface import Converter
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.evaluation.compiled_version import CompiledVersion
    from apiext.resources.evaluation.explanation import Explanation

Source = str | Path | Mapping[str, Any]
"""A file of YAML or JSON, or an object."""


class InvalidSourceError(ValueError):
    """A file or object has no CRD, or one that a server refuses; `reasons` are the server's own messages."""

    def __init__(self, place: str, reasons: list[str]) -> None:
        super().__init__(f"{place}: {'; '.join(reasons)}")
        self.reasons = reasons


class ApplyRefusedError(ValueError):
    """A server would refuse the apply. The text is its message, `code` its HTTP status."""

    def __init__(self, error: StatusError) -> None:
        super().__init__(error.message)
        self.code = error.code


@dataclass(frozen=True, slots=True)
class RuleCost:
    """What the CEL rules of an object cost, in cost units."""

    spent: int
    limit: int
    """The most that the rules of one object may cost."""
    largest: int
    """The cost of the most expensive evaluation."""


def load(source: Source, *, name: str = "", conversion: Source | None = None) -> CustomResource:
    """Return the custom resource that a CRD defines: the one in a file, or the one with a name if there are several.

    A server's validation, defaults and status apply to the CRD. The rules of a Conversion convert, of `conversion` or beside the CRD.
    Webhooks are not called.

    Raises:
        InvalidSourceError: there is no such CRD, or a server would refuse it or the rules.
        OSError: the file cannot be read.
    """
    place = str(source) if not isinstance(source, Mapping) else "the CRD"
    documents = list(_documents(source, place))
    crds = [one for one in documents if one.get("kind") == GVK.kind and name in ("", one["metadata"]["name"])]
    if len(crds) != 1:
        found = ", ".join(one["metadata"]["name"] for one in crds)
        raise InvalidSourceError(place, [f"has several CRDs, give one's name: {found}" if crds else f"has no CRD {name}".rstrip()])
    try:
        definition = result_of(create_definition(crds[0]))
    except DefinitionRefusedError as error:
        raise InvalidSourceError(place, list(error.reasons)) from error
    rules = list(_documents(conversion, str(conversion))) if conversion is not None else documents
    wanted = (one for one in rules if crd_documents.is_conversion(one) and one["metadata"]["name"] == definition.name)
    return CustomResource(definition, _converter(definition, next(wanted, None)))


class CustomResource:
    """The objects of a CRD, in all its versions."""

    def __init__(self, definition: Definition, converter: Converter) -> None:
        self.name = definition.name
        self.group = definition.group
        self.kind = definition.names.kind
        self._definition = CompiledDefinition(definition, DefinitionConverter(converter))
        self.versions = self._definition.names
        """The names of the versions, in the CRD's order."""
        self.storage_version = self._definition.storage

    def version(self, name: str) -> CustomResourceVersion:
        """Return a version by its name, served or not. Raises KeyError."""
        return CustomResourceVersion(self._definition.version(name))

    def convert(self, obj: Object, version: str) -> Object:
        """Return what a read in a version gives for an object of any version: converted, pruned, with defaults.

        Raises:
            KeyError: there is no such version.
            ValueError: the object cannot be converted, or its CRD has a webhook.
        """
        if not self._definition.has(str(obj.get("apiVersion"))):
            raise ValueError(f"{self.name} has no version {obj.get('apiVersion')}")
        (found,) = result_of(self._definition.read(version, [json_codec.dumps(obj)]))
        if isinstance(found, Exception):
            raise found
        if "resourceVersion" not in obj["metadata"]:
            found["metadata"].pop("resourceVersion", None)
        return found


class CustomResourceVersion:
    """The objects of one version. Methods leave the objects that they get as they are."""

    def __init__(self, version: CompiledVersion) -> None:
        self._version = version
        self.name = version.name
        self.is_served = version.version.served

    def unknown_fields(self, obj: Object) -> list[str]:
        """Return the server's messages about fields that the schema does not have, which `prune` drops. Raises ValueError as `decode`."""
        return self._version.decode(self._checked(obj))[1]

    def decode(self, obj: Object) -> Object:
        """Return an object as a request's body is decoded: pruned, with defaults, its metadata checked.

        Raises:
            ValueError: the object is of another kind or version, or its metadata has wrong types.
        """
        return self._version.decode(self._checked(obj))[0]

    def prune(self, obj: Object) -> Object:
        """Return an object without the fields that the schema does not have. Raises ValueError for metadata of wrong types."""
        found: Object = json_values.copy(obj)
        self._version.schema.coerce(found)
        return found

    def default(self, obj: Object) -> Object:
        """Return an object with the defaults of absent fields."""
        found: Object = json_values.copy(obj)
        self._version.schema.default(found)
        return found

    def validate(self, obj: Object, old: Object | None = None, *, subresource: str = "") -> Explanation:
        """Return what is wrong with an object that is created or, with `old`, updated: in the version, "status" for that subresource.

        An update tolerates violations in values that it leaves unchanged; the result has them, with the reason.

        Raises:
            ValueError: an object cannot be decoded, or there is no such subresource.
        """
        self._check_subresource(subresource)
        before = None if old is None else self.decode(old)
        if before is not None:
            before["metadata"].setdefault("resourceVersion", "1")
        return explain_update(self._version, self._checked(obj), before, subresource)

    def apply(self, live: Object | None, config: Object, manager: str, *, force: bool = False, subresource: str = "") -> Object:
        """Return the object after a server-side apply: merged, with managedFields, neither validated nor defaulted.

        Raises:
            ApplyRefusedError: other managers own fields that it changes (409), or it is invalid.
            ValueError: there is no such subresource.
        """
        self._check_subresource(subresource)
        fields = self._version.fields(subresource)
        try:
            return result_of(fields.apply(json_values.copy(live or {}), json_values.copy(config), manager, force=force))
        except StatusError as error:
            raise ApplyRefusedError(error) from error

    def rule_cost(self, obj: Object) -> RuleCost:
        """Return what the rules of the schema cost for an object."""
        if not self._version.schema.has_rules:
            return RuleCost(0, MAX_OBJECT_COST, 0)
        found = self._version.schema.rule_costs(obj, exact=True)
        return RuleCost(found.spent, MAX_OBJECT_COST, found.largest)

    def _check_subresource(self, name: str) -> None:
        if not self._version.has(name):
            raise ValueError(f"there is no subresource {name}")

    def _checked(self, obj: Object) -> Object:
        kind = self._version.kind
        if (obj.get("apiVersion"), obj.get("kind")) != (kind.api_version, kind.kind):
            raise ValueError(f"apiVersion {obj.get('apiVersion')} and kind {obj.get('kind')} are not {kind.api_version} and {kind.kind}")
        return obj


def _documents(source: Source, place: str) -> Iterator[Object]:
    """Yield the CRDs and Conversions of a source. Raises InvalidSourceError."""
    data = json_codec.dumps(dict(source)) if isinstance(source, Mapping) else Path(source).read_bytes()
    for document in crd_documents.definitions(data):
        if isinstance(document, FileProblem):
            raise InvalidSourceError(place, [str(document)])
        yield document


def _converter(definition: Definition, document: Object | None) -> Converter:
    if document is None:
        strategy = definition.head["spec"]["conversion"]["strategy"]
        return NoneConverter() if strategy == "None" else UnknownConverter(f"{definition.name}: its conversion webhook is not called")
    # imported with the first rules
    from apiext.resources.conversion.rules.building import build_rules

    built = build_rules(definition.name, document, version_schemas(definition), definition.storage_version.name)
    if not built.report.is_valid:
        raise InvalidSourceError(f"the Conversion {definition.name}", [f"{one.path}: {one.message}" for one in built.report.problems])
    return built.converter
