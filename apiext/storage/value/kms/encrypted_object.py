"""The stored message of a value: the encrypted data, and how its key is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import DecodeError

from apiext.base.meta import field, names
from apiext.storage.value.kms.messages import EncryptedObject
from apiext.storage.value.transformer import TransformError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

AES_GCM_KEY: Final = 0
HKDF_SEED: Final = 1
"""Types of the encrypted source of a data key: the key itself, or a seed of keys."""
_MOST_ANNOTATIONS: Final = 32 * 1024
_MOST_KEY_ID: Final = 1024
_MOST_SOURCE: Final = 1024

CacheKey = tuple[int, bytes, str, tuple[tuple[str, bytes], ...]]
"""What identifies a data key or seed: type, encrypted source, key id, and sorted annotations."""


def decode(data: bytes) -> Any:
    """Return the message in a value.

    Raises:
        TransformError: it is malformed or invalid.
    """
    try:
        found = EncryptedObject.FromString(data)
    except DecodeError as error:
        raise TransformError("proto: cannot parse invalid wire-format data") from error
    check(found)
    return found


def check(message: Any) -> None:
    """Check a message, apart from its data if that is empty.

    Raises:
        TransformError: a field is invalid, with the reference's words.
    """
    if message.dek_source_type not in (AES_GCM_KEY, HKDF_SEED):
        raise TransformError(f"unknown encryptedDEKSourceType: {message.dek_source_type}")
    if not message.data:
        raise TransformError("encrypted data is empty")
    size = len(message.dek_source)
    if not size:
        raise TransformError("failed to validate encrypted DEK source: encrypted DEK source is empty")
    if size > _MOST_SOURCE:
        why = f"encrypted DEK source is {size} bytes, which exceeds the max size of {_MOST_SOURCE}"
        raise TransformError(f"failed to validate encrypted DEK source: {why}")
    if problem := key_id_problem(message.key_id)[1]:
        raise TransformError(f"failed to validate key id: {problem}")
    if problems := list(_annotation_problems(message.annotations)):
        raise TransformError(f"failed to validate annotations: {field.aggregate(problems)}")


def key_id_problem(key_id: str) -> tuple[str, str]:
    """Return the code and the message of a key id's error, ("ok", "") for a valid one."""
    size = len(key_id.encode())
    if not size:
        return "empty", "keyID is empty"
    if size > _MOST_KEY_ID:
        return "too_long", f"keyID is {size} bytes, which exceeds the max size of {_MOST_KEY_ID}"
    return "ok", ""


def cache_key(message: Any) -> CacheKey:
    """Return what identifies the key or seed of a value."""
    annotations = message.annotations
    return message.dek_source_type, message.dek_source, message.key_id, tuple(sorted(annotations.items())) if annotations else ()


def _annotation_problems(annotations: Mapping[str, bytes]) -> Iterator[object]:
    total = 0
    for name, value in annotations.items():
        yield from _name_problems(name)
        total += len(name.encode()) + len(value)
    if total > _MOST_ANNOTATIONS:
        yield f"total size of annotations is {total}, which exceeds the max size of {_MOST_ANNOTATIONS}"


def _name_problems(name: str) -> Iterator[object]:
    """Yield the error of a name that is no fully qualified domain name."""
    path = field.Path("annotations")
    if not name:
        yield field.required(path)
        return
    name = name.removesuffix(".")
    if problems := names.dns1123_subdomain(name):
        yield field.invalid(path, name, ",".join(problems))
    elif "." not in name:
        yield field.invalid(path, name, "should be a domain with at least two segments separated by dots")
    else:
        for label in name.split("."):
            if problems := names.dns1123_label(label):
                yield field.invalid(path, label, ",".join(problems))
                return
