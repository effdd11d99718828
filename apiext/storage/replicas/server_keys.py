"""Keys of the servers' own records, which are not objects.

They lie below `<prefix>/apiext/`, where no object can be: the group of a CRD has a dot, and kube-apiserver has no resource `apiext`.
Earlier releases kept them below `<prefix>/apiext.dev/`, beside the instances of CRDs in the group apiext.dev. A server moves such records
once no server of an earlier release runs (storage/replicas/former_records.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta.host_annotations import DOMAIN
from apiext.storage import keys

if TYPE_CHECKING:
    from apiext.base.meta.gvk import GroupResource

SEGMENT: Final = "apiext"
"""The first segment of keys, below the prefix of all keys."""
FORMER_SEGMENT: Final = DOMAIN
"""The first segment of keys in earlier releases."""
REPLICAS: Final = "replicas/"
"""Folder of the roll call."""
COMPANIONS: Final = "companions/"
"""Folder of the companions of definitions in etcd."""
RESERVED: Final = "is reserved in this group: servers of earlier releases keep records where its objects would be stored"
"""Why a CRD is refused."""
_RESERVED_PLURALS: Final = frozenset({REPLICAS[:-1], COMPANIONS[:-1]})


def root(prefix: str) -> str:
    """Return the start of all keys of records, from `--etcd-prefix`."""
    return f"{keys.root(prefix)}{SEGMENT}/"


def former_root(prefix: str) -> str:
    """Return the start of all keys of records in earlier releases."""
    return f"{keys.root(prefix)}{FORMER_SEGMENT}/"


def is_reserved(resource: GroupResource) -> bool:
    """Report whether instances of a resource would lie where servers of earlier releases keep records."""
    return resource.group == FORMER_SEGMENT and resource.resource in _RESERVED_PLURALS


def is_record(key: str) -> bool:
    """Report whether a key, relative to the prefix of all keys, is that of a record, also of an earlier release."""
    first, _, rest = key.partition("/")
    return first == SEGMENT or (first == FORMER_SEGMENT and (rest.startswith((REPLICAS, COMPANIONS)) or "/" not in rest))
