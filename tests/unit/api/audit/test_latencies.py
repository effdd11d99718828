"""Where the time of a slow request went."""

import pytest

from apiext.api.audit.context import AuditContext
from apiext.api.audit.latencies import annotate
from apiext.storage.store_times import StoreTimes
from tests.unit.api.audit.events import Taken, context

SECOND = 1_000_000_000


def _slow(verb: str = "get") -> AuditContext:
    """Return a request that was authenticated in its first second and authorized in its third."""
    audit = context(Taken(), verb=verb)
    audit.annotations = {}
    audit.received, audit.authenticated, audit.authorizing, audit.authorized = 0, SECOND, 2 * SECOND, 3 * SECOND
    return audit


def _parts(audit: AuditContext, now: int = 10, *, queued: bool = False) -> dict[str, str]:
    annotate(audit, now * SECOND, queued=queued)
    prefix = "apiserver.latency.k8s.io/"
    return {key.removeprefix(prefix): text for key, text in (audit.annotations or {}).items() if key.startswith(prefix)}


def test_moments() -> None:
    """Measure between the moments of a request; what it does not need is left out."""
    assert _parts(_slow()) == {"authentication": "1s", "authorization": "1s", "total": "10s"}


def test_queue() -> None:
    """Count what lies between authentication and authorization as the wait for seats, without impersonation."""
    plain, impersonated, waited = _slow(), _slow(), _slow()
    impersonated.track("impersonation", 0.75)
    waited.track("apf-queue-wait", 0.5)

    assert [_parts(audit, queued=True)["apf-queue-wait"] for audit in (plain, impersonated, waited)] == ["1s", "250ms", "500ms"]


def test_response() -> None:
    """Measure the transformation of a response up to its encoding, or to its failure, and the encoding up to the end."""
    sent, formless = _slow(), _slow()
    sent.forming, sent.encoding = 4 * SECOND, 6 * SECOND
    formless.forming = 4 * SECOND

    assert {"transform-response-object": "2s", "serialize-response-object": "4s"}.items() <= _parts(sent).items()
    assert _parts(formless)["transform-response-object"] == "6s"


@pytest.mark.parametrize("verb, etcd", [("update", "2s"), ("delete", "5s"), ("deletecollection", "5s")])
def test_store(verb: str, etcd: str) -> None:
    """Count the reads of a request; writes only of deletions, as the reference does."""
    audit = _slow(verb)
    audit.store_times = times = StoreTimes()
    times.reads, times.writes, times.decoding = 2.0, 3.0, 0.5
    found = _parts(audit)

    assert (found["etcd"], found["decode-response-object"]) == (etcd, "500ms")
