"""What the collector reads in stored objects: owner references, and the finalizers that wait for it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.limits import MAX_OWNERS
from apiext.base.meta.objectmeta.raw_metadata import read_metadata
from apiext.base.meta.objectmeta.validation import FINALIZER_FOREGROUND, FINALIZER_ORPHAN
from apiext.storage import stored_object

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.base.meta.encoding.json_codec import Object

_REFERENCES: Final = b"ownerReferences"
_DELETION: Final = b"deletionTimestamp"


@dataclass(frozen=True, slots=True)
class OwnerReference:
    """An owner reference."""

    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool = False
    """Whether a foreground deletion of the owner waits for the dependent."""


@dataclass(frozen=True, slots=True)
class Links:
    """The part of an object's metadata that garbage collection depends on."""

    uid: str
    namespace: str
    references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    is_terminating: bool = False
    is_cut: bool = False
    """Whether there are more references than MAX_OWNERS. The others keep the object, as owners that exist."""

    @property
    def orphans(self) -> bool:
        """Return whether the deletion waits until dependents are orphaned."""
        return self.is_terminating and FINALIZER_ORPHAN in self.finalizers

    @property
    def waits_for_dependents(self) -> bool:
        """Return whether the deletion waits for that of the dependents."""
        return self.is_terminating and FINALIZER_FOREGROUND in self.finalizers


def may_matter(value: bytes) -> bool:
    """Report whether an object may have owners or be terminating, in a microsecond for each few kilobytes and without parsing it."""
    return _REFERENCES in value or _DELETION in value


def links_of(value: bytes) -> Links | None:
    """Return the links in an object's stored bytes, None if these cannot be read."""
    metadata = metadata_of(value)
    return None if metadata is None else links_in(metadata)


def links_in(metadata: Object) -> Links:
    """Return the links in the metadata of an object."""
    return Links(
        uid=_text(metadata.get("uid")),
        namespace=_text(metadata.get("namespace")),
        references=tuple(islice(references_of(metadata), MAX_OWNERS)),
        finalizers=tuple(name for name in _items(metadata.get("finalizers")) if type(name) is str),
        is_terminating=bool(metadata.get("deletionTimestamp")),
        is_cut=len(_items(metadata.get("ownerReferences"))) > MAX_OWNERS,
    )


def metadata_of(value: bytes) -> Object | None:
    """Return the metadata in an object's stored bytes, None if these cannot be read, such as encrypted ones."""
    encoding = stored_object.encoding(value)
    try:
        if encoding == "json":
            metadata: Any = read_metadata(value)
        elif encoding == "cbor":
            metadata = stored_object.loads(value).get("metadata")
        else:
            return None
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return metadata if type(metadata) is dict and metadata else None


def references_of(metadata: Object) -> Iterator[OwnerReference]:
    """Yield the owner references of an object. Skip malformed ones, which only other writers can have stored."""
    for one in _items(metadata.get("ownerReferences")):
        if type(one) is dict and (uid := _text(one.get("uid"))):
            api_version, kind, name = (_text(one.get(member)) for member in ("apiVersion", "kind", "name"))
            yield OwnerReference(api_version, kind, name, uid, blocks=one.get("blockOwnerDeletion") is True)


def _items(value: Any) -> list[Any]:
    return value if type(value) is list else []


def _text(value: Any) -> str:
    return value if type(value) is str else ""
