"""The life of a serving certificate whose authority's key nobody keeps."""

import datetime
from typing import Final

import pytest

from apiext.cert import certificate, issuing
from apiext.cert.issuing import Pem
from apiext.operator.serving_certificate.rotation import NOTHING, Kept, advance

HOSTS: Final = ["apiext.apiext-system.svc", "127.0.0.1"]
DAY: Final = datetime.timedelta(days=1)
START: Final = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)


def _authorities(kept: Kept) -> list[str]:
    return certificate.certificates(kept.authorities)


def _believes(kept: Kept, pair: Pem) -> bool:
    return any(certificate.is_issued_by(pair.cert, authority) for authority in _authorities(kept))


def _first() -> Kept:
    return advance(Kept(), HOSTS, START, believed=False)


def test_the_first() -> None:
    """Where there is nothing, a certificate is shown at once, and nothing changes while it is good."""
    kept = _first()

    assert certificate.covers(kept.shown.cert, HOSTS)
    assert _believes(kept, kept.shown)
    assert (len(_authorities(kept)), kept.coming) == (1, NOTHING)
    for days, believed in ((0, False), (1, True), (291, True)):
        assert advance(kept, HOSTS, START + days * DAY, believed=believed) == kept


def test_renewal_in_steps() -> None:
    """The next authority is made known first, then what it has issued is shown, and the old one is known until it ends."""
    first = _first()

    known = advance(first, HOSTS, START + 293 * DAY, believed=True)
    assert known.shown == first.shown
    assert _authorities(known)[1:] == _authorities(first)
    assert _believes(known, known.coming)
    assert advance(known, HOSTS, START + 300 * DAY, believed=False) == known

    shown = advance(known, HOSTS, START + 300 * DAY, believed=True)
    assert shown == Kept(known.coming, known.authorities)
    assert advance(shown, HOSTS, START + 364 * DAY, believed=True) == shown
    assert advance(shown, HOSTS, START + 366 * DAY, believed=True) == Kept(shown.shown, _authorities(shown)[0])


def test_hosts_that_change() -> None:
    """Another name of the Service takes the same way."""
    first = _first()

    known = advance(first, [*HOSTS, "other"], START, believed=True)

    assert known.shown == first.shown
    assert certificate.covers(known.coming.cert, [*HOSTS, "other"])


def test_years_without_a_gap() -> None:
    """Whatever the moment, what is shown is valid and believed, for one who believed what was published at the last look too."""
    kept = before = _first()
    for hours in range(0, 24 * 1500, 60):
        moment = START + hours * DAY / 24
        kept = advance(before, HOSTS, moment, believed=hours % 7 > 0)

        life = certificate.validity(kept.shown.cert)
        assert life is not None
        assert life[0] <= moment < life[1]
        assert _believes(before, kept.shown)
        assert _believes(kept, before.shown)
        assert len(_authorities(kept)) <= 3
        before = kept


@pytest.mark.parametrize("broken", ["cert", "key", "other key", "ended", "authority"])
def test_what_nobody_can_use(broken: str) -> None:
    """A certificate that no client gets on with is replaced without waiting."""
    first, other = _first(), _first()
    moment = START + 400 * DAY if broken == "ended" else START
    kept = {
        "cert": Kept(first.shown._replace(cert="rubbish"), first.authorities),
        "key": Kept(first.shown._replace(key="rubbish"), first.authorities),
        "other key": Kept(first.shown._replace(key=other.shown.key), first.authorities),
        "ended": first,
        "authority": Kept(first.shown, other.authorities),
    }[broken]

    new = advance(kept, HOSTS, moment, believed=False)

    assert new.shown.cert != first.shown.cert
    assert issuing.belong_together(new.shown)
    assert _believes(new, new.shown)
    assert new.coming == NOTHING


def test_a_coming_one_that_waited_too_long() -> None:
    """What was to be shown and has grown old is made anew."""
    known = advance(_first(), [*HOSTS, "other"], START, believed=False)

    later = advance(known, [*HOSTS, "other"], START + 300 * DAY, believed=True)

    assert later.coming not in {known.coming, NOTHING}
    assert later.shown == known.shown


def test_halves_that_do_not_belong_together() -> None:
    """A key of another kind, or of another certificate, is told."""
    one, other = _first().shown, _first().shown

    pairs = [one, Pem(one.cert, other.key), Pem("", ""), Pem(one.cert, "rubbish"), Pem("rubbish", one.key)]
    assert [issuing.belong_together(pair) for pair in pairs] == [True, False, False, False, False]
