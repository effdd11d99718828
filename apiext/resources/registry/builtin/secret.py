"""core/v1 Secrets for standalone use (kubernetes pkg/registry/core/secret)."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.builtin_resources import SECRETS
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_syntax import syntax_error
from apiext.base.meta.golang.byte_type import BYTES, length
from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.golang.type_model import describe
from apiext.base.meta.objectmeta.canonical import OBJECT_META
from apiext.resources.registry.builtin.codec import metadata_fields
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
_OPAQUE: Final = "Opaque"
_TOKEN: Final = "kubernetes.io/service-account-token"  # noqa: S105 -- the type of a secret
_TLS: Final = "kubernetes.io/tls"
_BASIC: Final = "kubernetes.io/basic-auth"
_SSH: Final = "kubernetes.io/ssh-auth"
_DOCKER: Final = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}
"""Keys of JSON documents, by type."""
_ACCOUNT: Final = "kubernetes.io/service-account.name"

SECRET: Final = struct(
    "Secret",
    "TypeMeta, 1 metadata! ObjectMeta, 5 immutable *bool, 2 data map[string][]uint8, 4 stringData map[string]string, 3 type v1.SecretType",
    OBJECT_META,
    BYTES,
)


class SecretStrategy(Strategy):
    """The type never changes; some types need certain keys."""

    allow_unconditional_update = True
    distinct_errors = True

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Validate metadata, the keys, the size of all entries, and what the type needs."""
        problems = core_metadata_errors(obj["metadata"], namespaced=True, name_rule=names.name_is_dns_subdomain)
        data = obj.get("data", {})
        problems += [error for key in data for error in key_errors(key, _DATA)]
        if sum(map(length, data.values())) > MAX_BYTES:
            problems.append(field.too_long(_DATA, MAX_BYTES))
        return problems + _type_errors(obj["type"], data, obj["metadata"])

    def warnings_on_create(self, ctx: RequestContext, obj: Object) -> list[str]:
        """Warn about a certificate that does not match its key."""
        if obj["type"] != _TLS:
            return []
        # Imported with the first certificate: the module takes long to import.
        from apiext.base.cert.key_pair import key_pair_error

        data = obj.get("data", {})
        error = key_pair_error(*(base64.b64decode(data[name] or "") for name in ("tls.crt", "tls.key")))
        return [error] if error else []

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate the object as a new one; the type, and the entries of an immutable object, must be the old ones."""
        problems = list(metadata_errors)
        if obj["type"] != old["type"]:
            problems.append(field.invalid(field.Path("type"), field.typed_text(obj["type"]), "field is immutable"))
        return [*problems, *immutable_errors(obj, old, ("data",)), *self.validate(ctx, obj)]

    def warnings_on_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[str]:
        """Warn about a certificate that does not match its key."""
        return self.warnings_on_create(ctx, obj)

    def canonicalize(self, obj: Object) -> None:
        """Turn missing bytes into empty ones, as Protobuf does."""
        fill_empty(obj, "data")


def _type_errors(secret_type: str, data: Object, metadata: Object) -> list[FieldError]:
    if secret_type == _TOKEN and not metadata.get("annotations", {}).get(_ACCOUNT):
        return [field.required(field.Path("metadata", "annotations").key(_ACCOUNT))]
    if secret_type in _DOCKER:
        return _document_errors(_DOCKER[secret_type], data)
    needed: tuple[str, ...] = ()
    if secret_type == _BASIC and not data.keys() & {"username", "password"}:
        needed = ("username", "password")
    elif secret_type == _SSH and not data.get("ssh-privatekey"):
        needed = ("ssh-privatekey",)
    elif secret_type == _TLS:
        needed = tuple(key for key in ("tls.crt", "tls.key") if key not in data)
    return [field.required(_DATA.key(key)) for key in needed]


def _document_errors(key: str, data: Object) -> list[FieldError]:
    path = _DATA.key(key)
    if key not in data:
        return [field.required(path)]
    text = base64.b64decode(data[key] or "")
    fault = syntax_error(text)
    if not fault:
        document = json_codec.loads(text)
        if document is not None and not isinstance(document, dict):
            fault = f"json: cannot unmarshal {describe(document)} into Go value of type map[string]interface {{}}"
    return [field.invalid(path, "<secret contents redacted>", fault)] if fault else []


def _fields(obj: Object) -> dict[str, str]:
    return {**metadata_fields(obj), "type": obj["type"]}


def _default(obj: Object) -> None:
    """Set the default type, and move the plain texts to the other entries."""
    texts = obj.pop("stringData", None)
    if texts:
        data = obj.get("data", {}) | {key: base64.b64encode(text.encode(errors="replace")).decode() for key, text in texts.items()}
        obj["data"] = dict(sorted(data.items()))
    obj["type"] = obj.get("type") or _OPAQUE
    ordered = SECRET.order(obj)
    obj.clear()
    obj.update(ordered)


SECRET_KIND: Final = BuiltinKind(resource=SECRETS, struct=SECRET, strategy=SecretStrategy(), selectable=_fields, default=_default)
