"""A definition as the rest of the server reads it: parsed once per change, immutable, with the answers at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.definitions import conditions
from apiext.meta import host_annotations
from apiext.meta.gvk import GroupKind, GroupResource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from apiext.meta.json_codec import Object
    from apiext.storage.interface import Item

_AGE_DESCRIPTION: Final = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. "
    "It is not guaranteed to be set in happens-before order across separate operations. "
    "Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\n"
    "Populated by the system. Read-only. Null for lists. "
    "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)


@dataclass(frozen=True, slots=True)
class Names:
    """What the resource is called."""

    plural: str
    singular: str
    kind: str
    list_kind: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A printer column."""

    name: str
    type: str
    json_path: str
    format: str = ""
    description: str = ""
    priority: int = 0


AGE: Final = Column("Age", "date", ".metadata.creationTimestamp", description=_AGE_DESCRIPTION)
"""The column of versions that name none."""


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One version of a definition."""

    name: str
    served: bool
    storage: bool
    deprecated: bool
    deprecation_warning: str | None
    """As the definition gives it; None for the usual text."""
    has_status: bool
    scale: Mapping[str, str] | None
    """specReplicasPath, statusReplicasPath and perhaps labelSelectorPath."""
    printer_columns: tuple[Column, ...]
    """The version's own, or the age."""
    selectable_fields: tuple[str, ...]
    """JSON paths."""
    read_schema: Callable[[], Mapping[str, Any] | None]

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The openAPIV3Schema; read anew each time, so that a definition nobody uses costs next to nothing."""
        return self.read_schema()


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A CustomResourceDefinition at one revision; compared by identity."""

    name: str
    uid: str
    group: str
    namespaced: bool
    names: Names
    """The accepted names if there are any, else those of the spec."""
    versions: tuple[Version, ...]
    storage_version: Version
    """What objects are stored in."""
    preserve_unknown_fields: bool
    conversion_strategy: str
    revision: int
    is_established: bool
    is_terminating: bool
    """Deletion has been asked for, so nothing new may be created."""
    phase: str | None
    """How far the copy of another server's definition is on its way (meta/host_annotations.py); None for what is no copy."""
    head: Object
    """The definition itself, in canonical form, without the schemas; nobody changes it."""
    read: Callable[[], Object]

    @property
    def object(self) -> Object:
        """The whole definition, schemas included, which are read anew each time; nobody changes it."""
        return self.read()

    @classmethod
    def from_object(cls, crd: Object, *, revision: int = 0) -> Definition:
        """Read a definition in canonical form; revision 0 takes that of its metadata. Raises ValueError when it has no storage version."""
        return cls._make(crd, lambda: crd, revision or int(crd["metadata"].get("resourceVersion") or 0))

    @classmethod
    def from_item(cls, item: Item) -> Definition:
        """Read a stored definition, keeping its bytes instead of its schemas. Raises ValueError when it has no storage version."""
        return cls._make(item.object(), item.object, item.revision)

    @classmethod
    def _make(cls, crd: Object, read: Callable[[], Object], revision: int) -> Definition:
        head = _without_schemas(crd)
        spec, metadata = head["spec"], head["metadata"]
        versions = tuple(_version(version, _schema_of(read, index)) for index, version in enumerate(spec["versions"] or ()))
        storage_version = next((version for version in versions if version.storage), None)
        if storage_version is None:
            msg = "invalid CustomResourceDefinition, no storage version"
            raise ValueError(msg)
        accepted = head["status"]["acceptedNames"]
        return cls(
            name=metadata.get("name", ""),
            uid=metadata.get("uid", ""),
            group=spec["group"],
            namespaced=spec["scope"] == "Namespaced",
            names=_names(accepted if accepted["plural"] else spec["names"]),
            versions=versions,
            storage_version=storage_version,
            preserve_unknown_fields=spec.get("preserveUnknownFields", False),
            conversion_strategy=spec["conversion"]["strategy"],
            revision=revision,
            is_established=conditions.is_true(head, conditions.ESTABLISHED),
            is_terminating=conditions.is_being_deleted(head),
            phase=_phase(metadata.get("annotations") or {}),
            head=head,
            read=read,
        )

    @property
    def resource(self) -> GroupResource:
        """The resource it defines."""
        return GroupResource(self.group, self.names.plural)

    @property
    def kind(self) -> GroupKind:
        """The kind it defines."""
        return GroupKind(self.group, self.names.kind)

    @property
    def served_versions(self) -> tuple[Version, ...]:
        """The versions that clients can use, in the order of the spec."""
        return tuple(version for version in self.versions if version.served)

    @property
    def names_accepted(self) -> bool:
        """Whether no other definition holds one of its names."""
        return conditions.is_true(self.head, conditions.NAMES_ACCEPTED)

    def version(self, name: str) -> Version | None:
        """A version by its name, served or not."""
        return next((version for version in self.versions if version.name == name), None)

    def condition(self, condition_type: str) -> Object | None:
        """A condition as it stands in the status."""
        return conditions.find(self.head, condition_type)


def _phase(annotations: Mapping[str, str]) -> str | None:
    if host_annotations.HOST_UID not in annotations:
        return None
    phase = annotations.get(host_annotations.PHASE) or host_annotations.IMPORTING
    # in one that only a later version knows, nothing is written either
    return phase if phase in host_annotations.PHASES else host_annotations.FROZEN


def _names(names: Object) -> Names:
    return Names(
        plural=names["plural"],
        singular=names.get("singular", ""),
        kind=names["kind"],
        list_kind=names.get("listKind", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
    )


def _without_schemas(crd: Object) -> Object:
    versions = crd["spec"]["versions"]
    if not versions:
        return crd
    bare = [{key: item for key, item in version.items() if key != "schema"} for version in versions]
    return crd | {"spec": crd["spec"] | {"versions": bare}}


def _schema_of(read: Callable[[], Object], index: int) -> Callable[[], Mapping[str, Any] | None]:
    def schema() -> Mapping[str, Any] | None:
        validation = read()["spec"]["versions"][index].get("schema") or {}
        found: Mapping[str, Any] | None = validation.get("openAPIV3Schema")
        return found

    return schema


def _version(version: Object, read_schema: Callable[[], Mapping[str, Any] | None]) -> Version:
    subresources = version.get("subresources") or {}
    columns = version.get("additionalPrinterColumns") or ()
    return Version(
        name=version["name"],
        served=version["served"],
        storage=version["storage"],
        deprecated=version.get("deprecated", False),
        deprecation_warning=version.get("deprecationWarning"),
        has_status=subresources.get("status") is not None,
        scale=subresources.get("scale"),
        printer_columns=tuple(map(_column, columns)) or (AGE,),
        selectable_fields=tuple(selectable["jsonPath"] for selectable in version.get("selectableFields") or ()),
        read_schema=read_schema,
    )


def _column(column: Object) -> Column:
    return Column(
        name=column["name"],
        type=column["type"],
        json_path=column["jsonPath"],
        format=column.get("format", ""),
        description=column.get("description", ""),
        priority=column.get("priority", 0),
    )
