"""Compaction by age, by one of all the servers that share an etcd.

Mirrors k8s.io/apiserver/pkg/storage/etcd3/compact.go, with its key, so that kube-apiservers take part.
"""

from __future__ import annotations

from typing import Any, Final

from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.calls import Calls

_KEY: Final = b"compact_rev_key"


class Turns:
    """Whose turn it is: the key's version is a clock that each interval advances once, whoever does it."""

    def __init__(self) -> None:
        self._time = 0
        self._revision = 0

    async def take(self, calls: Calls) -> int:
        """Try to advance the clock; the revision to compact at, 0 when it is not this server's turn or there is none yet."""
        aged = self._revision
        response = await calls.write(self._request(aged))
        self._revision = response.header.revision
        if response.succeeded:
            self._time += 1
            return aged
        self._time = response.responses[0].response_range.kvs[0].version
        return 0

    def _request(self, aged: int) -> Any:
        return rpc.TxnRequest(
            compare=(rpc.Compare(result=rpc.Compare.EQUAL, target=rpc.Compare.VERSION, key=_KEY, version=self._time),),
            success=(rpc.RequestOp(request_put=rpc.PutRequest(key=_KEY, value=b"%d" % aged)),),
            failure=(rpc.RequestOp(request_range=rpc.RangeRequest(key=_KEY)),),
        )
