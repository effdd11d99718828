"""apiextensions.k8s.io/v1: CustomResourceDefinitions (apiextensions-apiserver pkg/registry/customresourcedefinition/strategy.go)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol

from apiext.api.endpoints.responsewriters.table import CREATED_DESCRIPTION, NAME, Column, TableConvertor
from apiext.api.endpoints.serializers.negotiation import TABLELESS_OFFERS
from apiext.api.serving.builtin.printing import at, text
from apiext.api.serving.builtin.served_kind import ServedKind, ServedSubresource
from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.definitions.types import DEFINITION
from apiext.resources.registry.builtin.kind import BuiltinKind
from apiext.resources.registry.customresourcedefinition import (
    CustomResourceDefinitionRest,
    CustomResourceDefinitionStatusStrategy,
    CustomResourceDefinitionStrategy,
)
from apiext.resources.registry.protobuf.customresourcedefinition import DEFINITION_WIRE

if TYPE_CHECKING:
    from apiext.api.admission.attributes import Admission
    from apiext.api.endpoints.scopes.open_watches import Watches
    from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.resources.definitions.codec import CRDCodec
    from apiext.resources.registry.prune_guard import PruneGuard
    from apiext.storage.interface import Item, Store


def _versions(obj: Object, _now: datetime) -> str:
    served = [version for version in obj["spec"].get("versions") or () if version.get("served")]
    return ",".join(sorted(version["name"] + ("(storage)" if version.get("storage") else "") for version in served))


def _short_names(obj: Object, _now: datetime) -> str:
    return ",".join(obj["spec"]["names"].get("shortNames") or ())


def _established(obj: Object, _now: datetime) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(item.get("type") == "Established" and item.get("status") == "True" for item in conditions)


_COLUMNS: Final = (
    NAME,
    text("Scope", "Cluster/Namespaced", at("spec", "scope")),
    text("Versions", "Served versions", _versions),
    Column("Created At", "date", description=CREATED_DESCRIPTION, cell=at("metadata", "creationTimestamp")),
    text("Group", "API group", at("spec", "group"), priority=1),
    text("Kind", "CustomResource kind", at("spec", "names", "kind"), priority=1),
    text("ShortNames", "Short names", _short_names, priority=1),
    Column("Established", "boolean", description="Established status", priority=1, cell=_established),
)
_DEFINITIONS: Final = ServedKind(
    kind=BuiltinKind(resource=CUSTOM_RESOURCE_DEFINITIONS, struct=DEFINITION, strategy=CustomResourceDefinitionStrategy()),
    table=TableConvertor(_COLUMNS),
    other_versions=("v1beta1",),
    null_rows=True,
    pins_deleted=True,
    message=DEFINITION_WIRE,
    subresources={"status": ServedSubresource(strategy=CustomResourceDefinitionStatusStrategy(), reset=("spec",), offers=TABLELESS_OFFERS)},
)


class ObservedDefinitions(Protocol):
    """A store of definitions. Its catalog sees each write at once."""

    @property
    def store(self) -> Store:
        """Return the store."""
        ...

    @property
    def codec(self) -> CRDCodec:
        """Return the codec of the catalog's definitions."""
        ...

    def observe(self, item: Item) -> None:
        """Put a definition into the catalog."""
        ...

    def forget(self, name: str, revision: int) -> None:
        """Remove a deleted definition from the catalog."""
        ...


def definitions_endpoint(definitions: ObservedDefinitions, guard: PruneGuard, admission: Admission, watches: Watches) -> BuiltinEndpoint:
    """Return the endpoint of CustomResourceDefinitions. Each write updates the catalog at once."""
    rest = CustomResourceDefinitionRest(
        store=definitions.store, codec=definitions.codec, observe=definitions.observe, forget=definitions.forget, guard=guard
    )
    return _DEFINITIONS.endpoint_over(rest, admission, watches)
