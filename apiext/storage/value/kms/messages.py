"""The Protobuf messages of plugins (k8s.io/kms/apis/v2) and of stored values (apiserver .../envelope/kmsv2/v2)."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

_TYPES: Final = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "enum": FieldDescriptorProto.TYPE_INT32,
}
_MESSAGES: Final = {
    "StatusRequest": (),
    "StatusResponse": ("string version", "string healthz", "string key_id"),
    "DecryptRequest": ("bytes ciphertext", "string uid", "string key_id", "map annotations"),
    "DecryptResponse": ("bytes plaintext",),
    "EncryptRequest": ("bytes plaintext", "string uid"),
    "EncryptResponse": ("bytes ciphertext", "string key_id", "map annotations"),
    "EncryptedObject": ("bytes data", "string key_id", "bytes dek_source", "map annotations", "enum dek_source_type"),
}
"""The fields of messages with their types; numbers count from 1. An enumeration has the form of an int32."""
_PACKAGE: Final = "apiext.kms"


def _describe(message: DescriptorProto, fields: tuple[str, ...]) -> None:
    for number, text in enumerate(fields, 1):
        kind, name = text.split()
        field = message.field.add(name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
        if kind != "map":
            field.type = _TYPES[kind]
            continue
        entry = message.nested_type.add(name="AnnotationsEntry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, label=FieldDescriptorProto.LABEL_OPTIONAL, type=_TYPES["string"])
        entry.field.add(name="value", number=2, label=FieldDescriptorProto.LABEL_OPTIONAL, type=_TYPES["bytes"])
        field.label = FieldDescriptorProto.LABEL_REPEATED
        field.type = FieldDescriptorProto.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{message.name}.AnnotationsEntry"


def _classes() -> dict[str, Any]:
    file = FileDescriptorProto(name="apiext/kms.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        _describe(file.message_type.add(name=name), fields)
    pool = DescriptorPool()
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _MESSAGES}


MESSAGES: Final = _classes()
"""The classes of messages by name."""
EncryptedObject: Final = MESSAGES["EncryptedObject"]
"""What is stored for an object."""
