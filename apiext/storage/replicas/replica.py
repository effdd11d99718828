"""The description of a server on a store, and its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from apiext.base.meta.log import get_logger

if TYPE_CHECKING:
    from apiext.storage.backend import KeyValue

_PRESENT: Final = "present"
"""Member of a record at the former place: the server has a record at the present one."""

_LOG: Final = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ReplicaEncoding:
    """How a server writes the instances of a definition."""

    version: str
    """The version that it stores."""
    revision: int
    """Revision of the oldest state of the definition that it may still use for writes."""


@dataclass(frozen=True, slots=True)
class Replica:
    """A server on the store, described by itself."""

    id: str
    """Unique for each start of a server."""
    address: str
    """URL of the server, for people to read."""
    release: str
    started: str
    """Time in RFC 3339."""
    encodings: Mapping[str, ReplicaEncoding]
    """By the names of definitions; empty for a server of another release with another form of records."""

    def writes(self, definition: str, version: str, *, since: int) -> bool:
        """Report whether the server writes instances in a version, with the definition at the revision `since` or a later one."""
        encoding = self.encodings.get(definition)
        return encoding is not None and encoding.version == version and encoding.revision >= since

    def record(self, answered: int, *, is_copy: bool) -> bytes:
        """Return the server's record after its answer to a roll call. `is_copy`: it is for servers of earlier releases."""
        record: dict[str, Any] = {"address": self.address, "release": self.release, "started": self.started, "answered": answered}
        record["encodings"] = {name: {"version": one.version, "revision": one.revision} for name, one in self.encodings.items()}
        if is_copy:
            record[_PRESENT] = True
        return orjson.dumps(record, option=orjson.OPT_SORT_KEYS) + b"\n"


@dataclass(frozen=True, slots=True)
class Member:
    """A stored record."""

    replica: Replica
    answered: int
    """Revision of the last answered roll call."""
    revision: int
    is_copy: bool
    """Whether the server has another record, at the present place."""


def read_member(name: str, pair: KeyValue) -> Member:
    """Return a stored record. If another release wrote it in a different form, only its answer to roll calls is needed."""
    answered, replica, is_copy = 0, Replica(name, "", "", "", {}), False
    try:
        record = orjson.loads(pair.value)
        answered, is_copy = int(record["answered"]), _PRESENT in record
        encodings = {name: ReplicaEncoding(one["version"], one["revision"]) for name, one in record["encodings"].items()}
        replica = Replica(name, record["address"], record["release"], record["started"], encodings)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        _LOG.warning("invalid server record ignored", server=name, error=str(error))
    return Member(replica, answered, pair.revision, is_copy)


def is_server_record(value: bytes) -> bool:
    """Report whether a server wrote a value below the former place of the roll call. Objects of a CRD may lie there, too."""
    try:
        record = orjson.loads(value)
    except ValueError:
        return False
    return isinstance(record, dict) and "apiVersion" not in record and ("answered" in record or "by" in record)
