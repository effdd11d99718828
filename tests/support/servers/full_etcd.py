"""Fills an etcd up to its quota."""

import base64
import itertools
import re
import urllib.request
from typing import Final

from hack.lib.servers.etcd import Etcd, gateway
from hack.lib.waiting import until

_ALARM: Final = re.compile(r'^etcd_debugging_server_alarms\{alarm_type="NOSPACE",server_id="[0-9a-f]+"\} [1-9]', re.MULTILINE)


def fill(etcd: Etcd, piece: int) -> str:
    """Write values of so many bytes to an etcd until it refuses them and its metrics show the alarm. Return the last refusal.

    etcd compares the quota with the size of its last commit, and may refuse a write before it raises the alarm.
    """
    value, numbers, refusals = base64.b64encode(bytes(piece)).decode(), itertools.count(), list[str]()

    def is_full() -> bool:
        try:
            gateway(etcd.url, "kv/put", key=base64.b64encode(b"filler/%d" % next(numbers)).decode(), value=value)
        except AssertionError as refusal:
            refusals.append(str(refusal))
            return _ALARM.search(etcd_metrics(etcd)) is not None
        return False

    until(is_full, "the alarm")
    return refusals[-1]


def etcd_metrics(etcd: Etcd) -> str:
    """Return the text of an etcd's metrics."""
    with urllib.request.urlopen(f"{etcd.url}/metrics", timeout=30) as answer:  # noqa: S310 -- an address of this machine
        return str(answer.read().decode())
