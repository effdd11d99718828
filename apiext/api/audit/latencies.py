"""Where the time of a slow request went (apiserver pkg/endpoints/request/webhook_duration.go and filters/webhook_duration.go).

A part that the request did not need is left out, as in the reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta.time import format_duration

if TYPE_CHECKING:
    from apiext.api.audit.context import AuditContext

SLOW: Final = 500_000_000
"""Nanoseconds from which an event tells where the time went."""
IMPERSONATION: Final = "impersonation"
QUEUE: Final = "apf-queue-wait"
WRITING: Final = "response-write"
_PREFIX: Final = "apiserver.latency.k8s.io/"
_DELETIONS: Final = frozenset({"delete", "deletecollection"})
_NANO: Final = 1e9


def annotate(audit: AuditContext, now: int, *, queued: bool) -> None:
    """Add annotations with the times of the parts of the server until `now`. `queued` requests had to get seats of flow control.

    A watch gets none: its length is no latency.
    """
    if audit.info is None or audit.info.verb == "watch":
        return
    seconds = {**_measured(audit), **_between(audit, now, queued=queued), "total": (now - audit.received) / _NANO}
    for part, taken in seconds.items():
        if taken > 0:
            audit.annotate(f"{_PREFIX}{part}", format_duration(taken))


def _measured(audit: AuditContext) -> dict[str, float]:
    """Return the seconds of the parts that measure themselves."""
    found = dict(audit.latencies or {})
    if audit.record is not None:
        found |= audit.record.latencies
    times = audit.store_times
    if times is not None and audit.info is not None and audit.info.is_resource:
        found["decode-response-object"] = times.decoding
        # as in the reference the conditional writes of creates and updates are not part of it
        found["etcd"] = times.reads + (times.writes if audit.info.verb in _DELETIONS else 0.0)
    return found


def _between(audit: AuditContext, now: int, *, queued: bool) -> dict[str, float]:
    """Return the seconds between the moments that the audit context notes."""
    known = audit.latencies or {}
    found = {"authentication": (audit.authenticated - audit.received) / _NANO}
    if audit.is_read and audit.is_allowed and _asks_store(audit):
        # it measures nothing by itself; between its authorization and its answer it waits for the store only
        found["etcd"] = ((audit.forming or audit.encoding or now) - audit.authorized) / _NANO
    if audit.authorizing:
        # a request that was cut off meanwhile has no decision
        found["authorization"] = ((audit.authorized or now) - audit.authorizing) / _NANO
        if queued and QUEUE not in known:
            # it got its seats without waiting
            found[QUEUE] = (audit.authorizing - audit.authenticated) / _NANO - known.get(IMPERSONATION, 0.0)
    if audit.forming:
        found["transform-response-object"] = ((audit.encoding or now) - audit.forming) / _NANO
    if audit.encoding:
        # up to the answer's end: as in the reference it includes the writing
        found["serialize-response-object"] = (now - audit.encoding) / _NANO
    return found


def _asks_store(audit: AuditContext) -> bool:
    """Return whether a read came to the store: those that did not have an answer without an object and without a Status."""
    is_resource = audit.info is not None and audit.info.is_resource
    return is_resource and bool(audit.forming or audit.encoding or len(audit.status or ()) > 1)
