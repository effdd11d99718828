"""CustomResourceDefinitions between request bodies, stored bytes and dicts in canonical form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.definitions import types, v1beta1
from apiext.definitions.defaulting import set_defaults
from apiext.meta import json_codec
from apiext.meta.go_types import DecodeError, Decoder, Struct
from apiext.meta.gvk import GroupResource, GroupVersionKind

if TYPE_CHECKING:
    from apiext.meta.json_codec import Object

GVK: Final = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
RESOURCE: Final = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")


def canonical(obj: Object) -> Object:
    """A definition with exactly the fields that Go's encoder writes, in its order, and defaults filled in."""
    return _complete(types.DEFINITION, obj)


def _complete(struct: Struct, obj: Object) -> Object:
    crd: Object = struct.canonical(obj)
    crd["kind"], crd["apiVersion"] = GVK.kind, GVK.api_version
    set_defaults(crd)
    return struct.order(crd)


class CRDCodec:
    """The storage codec of apiextensions.k8s.io/v1 definitions: JSON of the v1beta1 type, in which kube-apiserver stores them."""

    __slots__ = ("__weakref__",)

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind of the objects."""
        return GVK

    def decode_body(self, obj: Object, report: bool) -> list[str]:  # noqa: FBT001
        """Bring a parsed request body into canonical form, in place; what strict decoding would refuse, if asked for.

        Raises:
            ValueError: a field has the wrong type; the text is that of the reference's decoder.
        """
        try:
            strict = Decoder(report=report).run(types.DEFINITION, obj)
            decoded = canonical(obj)
        except RecursionError:
            raise DecodeError("exceeded max depth") from None
        obj.clear()
        obj.update(decoded)
        return strict

    def encode(self, obj: Object) -> bytes:
        """The bytes to store: canonical, without resourceVersion."""
        return json_codec.dumps(v1beta1.to_storage(canonical(obj)), sort_keys=False) + b"\n"

    def decode(self, data: bytes) -> Object:
        """A stored definition; its schemas are taken as they are. Raises ValueError."""
        obj = json_codec.loads(data)
        if not isinstance(obj, dict) or obj.get("kind") != GVK.kind:
            msg = f"not a {GVK.kind}"
            raise ValueError(msg)
        if obj.get("apiVersion") == v1beta1.API_VERSION:
            obj = v1beta1.from_storage(obj)
        return _complete(v1beta1.READ, obj)

    def reread(self, obj: Object, data: bytes) -> Object:
        """The object as it is stored."""
        return self.decode(data)

    def fields(self, obj: Object) -> dict[str, str]:
        """The selectable fields."""
        return {"metadata.name": obj["metadata"].get("name", ""), "metadata.namespace": ""}
