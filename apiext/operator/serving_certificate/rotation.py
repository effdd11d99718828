"""What comes next in the life of a serving certificate. Every certificate has an authority of its own, whose key nobody keeps.

A new authority is published first; once the host believes it, the certificate that it has issued is shown. The old one's stays
published until it ends, since servers read the certificate when their node gets round to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.cert import certificate, issuing, renewal
from apiext.cert.issuing import Pem

if TYPE_CHECKING:
    import datetime
    from collections.abc import Sequence

NOTHING: Final = Pem("", "")


@dataclass(frozen=True, slots=True)
class Kept:
    """All that there is, in PEM; empty texts where something is not there."""

    shown: Pem = NOTHING
    authorities: str = ""
    """Whom to believe: the newest first, those of all certificates that may be shown."""
    coming: Pem = NOTHING
    """What is shown next."""


def advance(kept: Kept, hosts: Sequence[str], moment: datetime.datetime, *, believed: bool) -> Kept:
    """The state that follows, which may be the same. `believed` tells whether the host believes all of the authorities."""
    authorities = renewal.still_valid(kept.authorities, moment)
    if not _works(kept.shown, authorities, moment):
        # nobody can be using it, so nobody has to wait
        new, authority = _new(hosts, moment)
        return Kept(new, "".join([authority, *authorities]))
    if _is_fresh(kept.coming, authorities, hosts, moment):
        return Kept(kept.coming, "".join(authorities)) if believed else Kept(kept.shown, "".join(authorities), kept.coming)
    if _is_fresh(kept.shown, authorities, hosts, moment):
        return Kept(kept.shown, "".join(authorities))
    new, authority = _new(hosts, moment)
    return Kept(kept.shown, "".join([authority, *authorities]), new)


def _new(hosts: Sequence[str], moment: datetime.datetime) -> tuple[Pem, str]:
    """A certificate, and its authority's, which ends with it."""
    name = f"apiext-serving-ca@{int(moment.timestamp())}"
    authority = issuing.new_authority(name, moment, lifetime=issuing.LIFETIME)
    return issuing.issue_serving(authority, hosts, moment), authority.cert


def _works(pair: Pem, authorities: Sequence[str], moment: datetime.datetime) -> bool:
    """Whether clients that believe the authorities get on with it."""
    life = certificate.validity(pair.cert)
    valid = life is not None and life[0] <= moment < life[1]
    return valid and issuing.belong_together(pair) and bool(_issuer(pair, authorities))


def _is_fresh(pair: Pem, authorities: Sequence[str], hosts: Sequence[str], moment: datetime.datetime) -> bool:
    """Whether it works, and will for long."""
    works = _works(pair, authorities, moment) and certificate.covers(pair.cert, hosts)
    return works and not renewal.is_due(pair.cert, _issuer(pair, authorities), moment)


def _issuer(pair: Pem, authorities: Sequence[str]) -> str:
    return next((authority for authority in authorities if certificate.is_issued_by(pair.cert, authority)), "")
