"""A built-in kind: its Go type and the rules of its objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from apiext.resources.registry.builtin.codec import TypedCodec, metadata_fields
from apiext.resources.registry.rest import ResourceRest

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.base.meta.builtin_resources import BuiltinResource
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.golang.struct_type import Struct
    from apiext.resources.registry.strategy import Strategy
    from apiext.storage.interface import Store


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BuiltinKind:
    """The Go type of a built-in kind, with the rules of its objects."""

    resource: BuiltinResource
    struct: Struct
    strategy: Strategy
    selectable: Callable[[Object], dict[str, str]] = metadata_fields
    """Returns the selectable fields of an object."""
    default: Callable[[Object], None] | None = None
    """Sets the defaults of an object in its canonical form, in place."""
    stored_version: str = ""
    """The apiVersion of stored objects, whose form is the same in all versions; empty for the kind's own."""
    codec_type: type[TypedCodec] = TypedCodec
    rest_type: type[ResourceRest] = ResourceRest

    def codec(self) -> TypedCodec:
        """Return a codec of the kind."""
        return self.codec_type(
            gvk=self.resource.kind,
            struct=self.struct,
            selectable=self.selectable,
            default=self.default,
            stored_version=self.stored_version,
        )

    def rest(self, store: Store) -> ResourceRest:
        """Return the verbs of the kind's objects in a store."""
        return self.rest_type(
            store=store,
            codec=self.codec(),
            strategy=self.strategy,
            resource=self.resource.resource.group_resource,
            namespaced=self.resource.namespaced,
        )
