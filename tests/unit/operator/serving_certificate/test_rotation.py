"""The rotation of the serving certificate."""

import datetime
from typing import Final

import pytest

from apiext.base.cert import certificate, issuing
from apiext.base.cert.issuing import Pem
from apiext.operator.serving_certificate.secret import NOTHING, CertificateState, advance

HOSTS: Final = ["apiext.apiext-system.svc", "127.0.0.1"]
DAY: Final = datetime.timedelta(days=1)
START: Final = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)


def _authorities(kept: CertificateState) -> list[str]:
    return certificate.certificates(kept.ca_bundle)


def _believes(kept: CertificateState, pair: Pem) -> bool:
    return any(certificate.is_issued_by(pair.cert, authority) for authority in _authorities(kept))


def _first() -> CertificateState:
    return advance(CertificateState(), HOSTS, START, trusted=False)


def test_issues_the_first_certificate() -> None:
    """Issue the first certificate at once, and change nothing while it is fresh."""
    kept = _first()

    assert certificate.covers(kept.current.cert, HOSTS)
    assert _believes(kept, kept.current)
    assert (len(_authorities(kept)), kept.next) == (1, NOTHING)
    for days, trusted in ((0, False), (1, True), (291, True)):
        assert advance(kept, HOSTS, START + days * DAY, trusted=trusted) == kept


def test_renews_in_steps() -> None:
    """Publish the next authority, then use its certificate, and keep the old authority until it expires."""
    first = _first()

    known = advance(first, HOSTS, START + 293 * DAY, trusted=True)
    assert known.current == first.current
    assert _authorities(known)[1:] == _authorities(first)
    assert _believes(known, known.next)
    assert advance(known, HOSTS, START + 300 * DAY, trusted=False) == known

    shown = advance(known, HOSTS, START + 300 * DAY, trusted=True)
    assert shown == CertificateState(known.next, known.ca_bundle)
    assert advance(shown, HOSTS, START + 364 * DAY, trusted=True) == shown
    assert advance(shown, HOSTS, START + 366 * DAY, trusted=True) == CertificateState(shown.current, _authorities(shown)[0])


def test_renews_for_other_hosts() -> None:
    """Renew in the same steps for another name."""
    first = _first()

    known = advance(first, [*HOSTS, "other"], START, trusted=True)

    assert known.current == first.current
    assert certificate.covers(known.next.cert, [*HOSTS, "other"])


def test_stays_trusted_for_years() -> None:
    """Present at any time a valid certificate that clients with the previous CA bundle trust."""
    kept = before = _first()
    for hours in range(0, 24 * 1500, 60):
        moment = START + hours * DAY / 24
        kept = advance(before, HOSTS, moment, trusted=hours % 7 > 0)

        life = certificate.validity(kept.current.cert)
        assert life is not None
        assert life[0] <= moment < life[1]
        assert _believes(before, kept.current)
        assert _believes(kept, before.current)
        assert len(_authorities(kept)) <= 3
        before = kept


@pytest.mark.parametrize("broken", ["cert", "key", "other key", "ended", "authority"])
def test_replaces_an_unusable_certificate(broken: str) -> None:
    """Replace a certificate that no client accepts without waiting."""
    first, other = _first(), _first()
    moment = START + 400 * DAY if broken == "ended" else START
    kept = {
        "cert": CertificateState(first.current._replace(cert="rubbish"), first.ca_bundle),
        "key": CertificateState(first.current._replace(key="rubbish"), first.ca_bundle),
        "other key": CertificateState(first.current._replace(key=other.current.key), first.ca_bundle),
        "ended": first,
        "authority": CertificateState(first.current, other.ca_bundle),
    }[broken]

    new = advance(kept, HOSTS, moment, trusted=False)

    assert new.current.cert != first.current.cert
    assert issuing.belong_together(new.current)
    assert _believes(new, new.current)
    assert new.next == NOTHING


def test_replaces_an_old_next_certificate() -> None:
    """Replace a next certificate that became old before its use."""
    known = advance(_first(), [*HOSTS, "other"], START, trusted=False)

    later = advance(known, [*HOSTS, "other"], START + 300 * DAY, trusted=True)

    assert later.next not in {known.next, NOTHING}
    assert later.current == known.current


def test_detects_a_foreign_key() -> None:
    """Detect a key of another kind or of another certificate."""
    one, other = _first().current, _first().current

    pairs = [one, Pem(one.cert, other.key), Pem("", ""), Pem(one.cert, "rubbish"), Pem("rubbish", one.key)]
    assert [issuing.belong_together(pair) for pair in pairs] == [True, False, False, False, False]
