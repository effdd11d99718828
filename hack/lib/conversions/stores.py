"""The stored objects of a CRD in kube-apiserver and in apiext, which share an etcd."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from apiext.base.meta.encoding import json_codec
from hack.lib.conversions.cases import Case
from hack.lib.servers.etcd import gateway

PREFIX: Final = "/apiext"
"""The prefix of apiext's keys."""
_MOST: Final = 100
"""Objects of one transaction; etcd's limit is 128 operations."""
_CREATED: Final = "2026-01-02T03:04:05Z"
Json = dict[str, Any]


class Stores:
    """Puts and deletes objects of one CRD below both prefixes. The servers must not cache those of kube-apiserver."""

    def __init__(self, url: str, prefix: str, case: Case) -> None:
        """Take the URL of the etcd, and the prefix of kube-apiserver's keys."""
        self._url = url
        spec = case.crd["spec"]
        self._collections = [f"{one}/{spec['group']}/{spec['names']['plural']}/" for one in (prefix, PREFIX)]
        self._namespace = "" if spec["scope"] == "Cluster" else "default/"

    def put(self, objects: Mapping[str, Json]) -> None:
        """Store objects by name, in the versions that they have."""
        rest = iter(objects.items())
        while some := dict(islice(rest, _MOST)):
            data = {name: json_codec.dumps(_stored(name, one)) for name, one in some.items()}
            for collection in self._collections:
                puts = [{"requestPut": {"key": f"{collection}{self._namespace}{name}".encode(), "value": data[name]}} for name in some]
                gateway(self._url, "kv/txn", success=puts)

    def clear(self) -> None:
        """Delete all objects."""
        for collection in self._collections:
            gateway(self._url, "kv/deleterange", key=collection.encode(), range_end=collection[:-1].encode() + b"0")


def _stored(name: str, found: Json) -> Json:
    return found | {"metadata": found["metadata"] | {"uid": f"uid-of-{name}", "creationTimestamp": _CREATED, "generation": 1}}
