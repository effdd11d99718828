"""Codec of CustomResourceDefinitions: request bodies, stored bytes, and dicts in canonical and compact form.

The compact form lacks empty lists and maps. Only validation distinguishes these from missing ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.golang.struct_type import Struct
from apiext.base.meta.golang.type_model import Decoder
from apiext.base.meta.gvk import GroupResource, GroupVersionKind
from apiext.resources.definitions import types, v1beta1
from apiext.schema.keywords import SCHEMA_MAPS, of_kind
from apiext.storage.interface import EncodedObject
from apiext.storage.rendering.renderer import revision_place

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

GVK: Final = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
RESOURCE: Final = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
_WEBHOOK_PORT: Final = 443
_CONTAINERS: Final = frozenset({*SCHEMA_MAPS, *of_kind("schemas", "values", "names", "rules")})
_NESTED: Final = frozenset(of_kind("schema", "schema or bool", "schema or schemas", "schemas"))
_VERSION_LISTS: Final = frozenset({"additionalPrinterColumns", "selectableFields"})


def canonical(obj: Object) -> Object:
    """Return a definition with exactly the fields that Go's encoder writes, in its order, with defaults."""
    return _complete(types.DEFINITION, types.DEFINITION.canonical(obj))


def _complete(struct: Struct, crd: Object) -> Object:
    """Set the kind and defaults of a canonical definition, in place, and return it in the order of its type."""
    crd["kind"], crd["apiVersion"] = GVK.kind, GVK.api_version
    _set_defaults(crd)
    return struct.order(crd)


class CRDCodec:
    """Storage codec of apiextensions.k8s.io/v1 definitions. The stored form is JSON of the v1beta1 type, as in kube-apiserver."""

    __slots__ = ("__weakref__",)
    gvk: Final = GVK
    cbor: Final = False
    conversion: Final = None
    """The codec itself converts."""
    remote: Final = None
    """Definitions are rendered in place: the first ones are read during the server's start."""

    def decode_body(self, obj: Object, report: bool) -> list[str]:  # noqa: FBT001
        """Convert a parsed request body to canonical form, in place.

        Returns:
            The errors of strict decoding if `report` is set, else none.

        Raises:
            ValueError: a field has the wrong type; the text is that of the reference's decoder.
        """
        strict = Decoder(report=report).run(types.DEFINITION, obj)
        decoded = canonical(obj)
        obj.clear()
        obj.update(decoded)
        return strict

    def encode(self, obj: Object) -> EncodedObject:
        """Return the bytes to store: canonical v1beta1, without resourceVersion."""
        stored = v1beta1.to_storage(canonical(obj))
        data = json_codec.dumps(stored, sort_keys=False) + b"\n"
        # what `decode` returns for the data, without parsing it
        shown = _complete(v1beta1.READ, v1beta1.from_storage(stored))
        rendered = json_codec.dumps(shown) + b"\n"
        return EncodedObject(data, revision_place(rendered, shown["metadata"]), shown=rendered)

    def decode(self, data: bytes) -> Object:
        """Return a stored definition. Do not decode its schemas: they were canonical when stored.

        Raises:
            ValueError: the bytes are not a definition.
        """
        obj = json_codec.loads(data)
        if not isinstance(obj, dict) or obj.get("kind") != GVK.kind:
            msg = f"not a {GVK.kind}"
            raise ValueError(msg)
        is_v1beta1 = obj.get("apiVersion") == v1beta1.API_VERSION
        return _complete(v1beta1.READ, v1beta1.from_storage(obj) if is_v1beta1 else v1beta1.READ.canonical(obj))

    def recall(self, obj: Object) -> None:
        """Implement Codec.recall: the codec remembers nothing."""

    def decode_unchanged(self, data: bytes) -> None:
        """Implement Codec.decode_unchanged: unknown."""

    def fields(self, obj: Object) -> dict[str, str]:
        """Return the selectable fields."""
        return {"metadata.name": obj["metadata"].get("name", ""), "metadata.namespace": ""}


# --- defaulting -----------------------------------------------------------------------------------------------------


def _set_defaults(crd: Object) -> None:
    """Set the defaults of a canonical definition, in place (apiextensions-apiserver pkg/apis/apiextensions/v1/defaults.go)."""
    spec, status = crd["spec"], crd["status"]
    names = spec["names"]
    if not names.get("singular") and names["kind"]:
        names["singular"] = names["kind"].lower()
    if not names.get("listKind") and names["kind"]:
        names["listKind"] = names["kind"] + "List"
    spec["names"] = types.NAMES.order(names)
    conversion = spec.get("conversion")
    if conversion is None:
        spec["conversion"] = {"strategy": "None"}
        crd["spec"] = types.SPEC.order(spec)
    else:
        _set_conversion_defaults(conversion)
    if not status["storedVersions"]:
        stored = [version["name"] for version in spec["versions"] or () if version["storage"]]
        if stored:
            status["storedVersions"] = stored[:1]


def _set_conversion_defaults(conversion: Object) -> None:
    webhook = conversion.get("webhook")
    if webhook is None:
        return
    client = webhook.get("clientConfig")
    if client is None and webhook["conversionReviewVersions"] is None:
        # The stored v1beta1 form cannot hold an empty webhook.
        del conversion["webhook"]
    elif client is not None and "service" in client:
        client["service"].setdefault("port", _WEBHOOK_PORT)
        client["service"] = types.SERVICE.order(client["service"])


# --- compact form ----------------------------------------------------------------------------------------------------


def compact(spec: Object) -> Object:
    """Return a canonical v1 spec without empty lists and maps in its versions. Share members with it and change none."""
    versions = spec["versions"]
    return spec | {"versions": [_compact_version(version) for version in versions]} if versions else spec


def _compact_version(version: Object) -> Object:
    kept = {key: member for key, member in version.items() if member or key not in _VERSION_LISTS}
    validation = version.get("schema")
    schema = validation.get("openAPIV3Schema") if validation else None
    return kept | {"schema": validation | {"openAPIV3Schema": _compact_schema(schema)}} if validation and schema else kept


def _compact_schema(value: Any) -> Any:
    """Return the compact form of a schema, a list of schemas, or another value where a schema may be."""
    if isinstance(value, list):
        return [_compact_schema(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    out = {}
    for key, member in value.items():
        if key in _NESTED:
            compacted = _compact_schema(member)
        elif key in SCHEMA_MAPS and member:
            compacted = {name: _compact_schema(child) for name, child in member.items()}
        else:
            compacted = member
        if compacted or key not in _CONTAINERS:
            out[key] = compacted
    return out
