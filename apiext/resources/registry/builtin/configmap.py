"""core/v1 ConfigMaps for standalone use (kubernetes pkg/registry/core/configmap)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.builtin_resources import CONFIG_MAPS
from apiext.base.meta.golang.byte_type import BYTES, length
from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.objectmeta.canonical import OBJECT_META
from apiext.resources.registry.builtin.core_metadata import core_metadata_errors
from apiext.resources.registry.builtin.entries import MAX_BYTES, fill_empty, immutable_errors, key_errors
from apiext.resources.registry.builtin.kind import BuiltinKind
from apiext.resources.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.resources.registry.request_context import RequestContext

_DATA: Final = field.Path("data")
_BINARY: Final = field.Path("binaryData")
_WHOLE: Final = field.Path("")

CONFIG_MAP: Final = struct(
    "ConfigMap",
    "TypeMeta, 1 metadata! ObjectMeta, 4 immutable *bool, 2 data map[string]string, 3 binaryData map[string][]uint8",
    OBJECT_META,
    BYTES,
)


class ConfigMapStrategy(Strategy):
    """Entries of an immutable ConfigMap never change."""

    allow_unconditional_update = True
    distinct_errors = True

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Validate metadata, the keys, and the size of all entries."""
        problems = core_metadata_errors(obj["metadata"], namespaced=True, name_rule=names.name_is_dns_subdomain)
        data, binary = obj.get("data", {}), obj.get("binaryData", {})
        for key in data:
            problems += key_errors(key, _DATA)
            if key in binary:
                problems.append(field.invalid(_DATA.key(key), key, "duplicate of key present in binaryData"))
        for key in binary:
            problems += key_errors(key, _BINARY)
        if sum(map(names.size, data.values())) + sum(map(length, binary.values())) > MAX_BYTES:
            problems.append(field.too_long(_WHOLE, MAX_BYTES))
        return problems

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate the object as a new one; the entries of an immutable one must be the old ones."""
        return [*metadata_errors, *immutable_errors(obj, old, ("data", "binaryData")), *self.validate(ctx, obj)]

    def canonicalize(self, obj: Object) -> None:
        """Turn missing bytes into empty ones, as Protobuf does."""
        fill_empty(obj, "binaryData")


CONFIG_MAP_KIND: Final = BuiltinKind(resource=CONFIG_MAPS, struct=CONFIG_MAP, strategy=ConfigMapStrategy())
