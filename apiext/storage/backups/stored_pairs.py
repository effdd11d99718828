"""The content of a backup in any form: keys with values, and their counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

import orjson

from apiext.storage import stored_object
from apiext.storage.backends.revision_offset import OFFSET_MEMBER, OFFSET_RECORD
from apiext.storage.backends.unfinished_restore import RESTORE_RECORD
from apiext.storage.replicas import server_keys
from apiext.storage.replicas.server_keys import COMPANIONS, FORMER_SEGMENT, REPLICAS, SEGMENT
from apiext.storage.stored_bytes.object_links import links_of, may_matter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

KUBE_APISERVERS: Final = ("masterleases/", "peerserverleases/")
"""Starts of the keys that a running kube-apiserver keeps, the first one unless `--endpoint-reconciler-type` says otherwise, the second
one for its peers. They expire 15 s after its end."""
_THIS_STORE: Final = (RESTORE_RECORD, OFFSET_RECORD)
"""Names of the records about this store. No other store needs them, nor those about running servers."""


_MAX_ROUNDS: Final = 10
"""Each round reads the backup. The last one has all that is left, also circles."""


class BackupError(Exception):
    """A backup or a restoration failed. The message is one line with the reason."""


class StoredPairs(Protocol):
    """Keys and values of a store at one revision. Keys are relative to the store's prefix.

    Raises:
        BackupError: from every method, if the backup is damaged.
    """

    @property
    def revision(self) -> int:
        """Return the store's own revision, without the offset; 0 if it has none."""
        ...

    def pairs(self) -> Iterator[tuple[str, bytes]]:
        """Yield all keys with their values."""
        ...

    def get(self, key: str) -> bytes | None:
        """Return the value of a key, None if it is absent."""
        ...

    def close(self) -> None:
        """Close files."""
        ...


@dataclass(slots=True)
class ContentsSummary:
    """Counts of the content of a backup."""

    resources: Counter[str] = field(default_factory=Counter)
    """Number of objects by resource, such as `widgets.example.com`."""
    encrypted: int = 0
    """Number of encrypted values."""
    size: int = 0
    """Bytes of all values."""

    @property
    def count(self) -> int:
        """Return the number of objects."""
        return self.resources.total()


def summarize(pairs: StoredPairs) -> ContentsSummary:
    """Count objects, encrypted values and bytes in one read.

    Raises:
        BackupError: the backup is damaged.
    """
    found = ContentsSummary()
    for key, value in contents(pairs):
        found.resources[resource_of(key)] += 1
        found.encrypted += is_encrypted(value)
        found.size += len(value)
    return found


def contents(pairs: StoredPairs) -> Iterator[tuple[str, bytes]]:
    """Yield what belongs to a restored store. Records move from the place that they had in earlier releases.

    Raises:
        BackupError: the backup is damaged.
    """
    for key, value in pairs.pairs():
        if not is_content(key):
            continue
        if key.startswith(f"{FORMER_SEGMENT}/") and server_keys.is_record(key):
            present = SEGMENT + key.removeprefix(FORMER_SEGMENT)
            # some have a copy at their former place
            if pairs.get(present) is None:
                yield present, value
        else:
            yield key, value


def is_content(key: str) -> bool:
    """Report whether a key belongs to a restored store."""
    if server_keys.is_record(key):
        name = key.partition("/")[2]
        return name not in _THIS_STORE and not name.startswith((REPLICAS, COMPANIONS))
    return not key.startswith(KUBE_APISERVERS)


def is_encrypted(value: bytes) -> bool:
    """Report whether a value is encrypted at rest."""
    return stored_object.encoding(value) == "encrypted"


def resource_of(key: str) -> str:
    """Return the resource of a key, such as `widgets.example.com` or `namespaces`; `apiext` for records of servers."""
    if server_keys.is_record(key):
        return SEGMENT
    group, _, rest = key.partition("/")
    plural, slash, _ = rest.partition("/")
    return f"{plural}.{group}" if "." in group and slash else group


def group_of(key: str) -> str:
    """Return the API group of a key of a custom resource, the first part of other keys, and "" for records of servers."""
    return "" if server_keys.is_record(key) else key.partition("/")[0]


def present_resource(name: str) -> str:
    """Return what counts call a resource of an earlier release's counts: it counted the CRDs in the group apiext.dev as records."""
    is_together = name in {SEGMENT, FORMER_SEGMENT} or name.partition(".")[2] == FORMER_SEGMENT
    return SEGMENT if is_together else name


def rounds_after_owners(pairs: Iterable[tuple[str, bytes]]) -> list[frozenset[str]]:
    """Return the keys of all objects with owners, in rounds: those of an owner come before those of its dependents."""
    left = {key: links for key, value in pairs if may_matter(value) and (links := links_of(value)) is not None and links.references}
    rounds: list[frozenset[str]] = []
    while left:
        uids = {links.uid for links in left.values()}
        due = {key for key, links in left.items() if all(one.uid not in uids for one in links.references)}
        if not due or len(rounds) == _MAX_ROUNDS - 1:
            due = set(left)
        rounds.append(frozenset(due))
        left = {key: links for key, links in left.items() if key not in due}
    return rounds


def check_finished(pairs: StoredPairs) -> None:
    """Check that no restoration into the store was under way: it would have a part of its objects only.

    Raises:
        BackupError: one was.
    """
    # servers do not run on such a store
    if pairs.revision and _records(pairs, RESTORE_RECORD):
        raise BackupError("the store has an unfinished restoration: repeat apiext restore, and back it up then")


def offset_of(pairs: StoredPairs) -> int:
    """Return the recorded offset of a store's revisions.

    Raises:
        BackupError: the record is invalid.
    """
    return max(map(_offset, _records(pairs, OFFSET_RECORD)), default=0)


def _records(pairs: StoredPairs, name: str) -> list[bytes]:
    """Return a record as it is stored, at the present place and the former one."""
    found = [pairs.get(f"{segment}/{name}") for segment in (SEGMENT, FORMER_SEGMENT)]
    return [value for value in found if value is not None]


def _offset(value: bytes) -> int:
    try:
        record: Mapping[str, object] = orjson.loads(value)
        offset = record[OFFSET_MEMBER]
    except (ValueError, TypeError, KeyError) as error:
        raise BackupError("the backup's record of the revision offset is invalid") from error
    if type(offset) is not int or offset < 0:
        raise BackupError("the backup's record of the revision offset is invalid")
    return offset
