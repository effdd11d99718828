"""Rotation of the serving certificate. Each certificate has an authority of its own, whose key is discarded.

A rotation publishes a new authority first. Once the host trusts it, the servers present its certificate. The old authority stays published
until it expires, because servers read the Secret with the delay of their kubelet.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apiext.cert import certificate, issuing, renewal
from apiext.cert.issuing import Pem

NOTHING: Final = Pem("", "")


@dataclass(frozen=True, slots=True)
class CertificateState:
    """The content of the Secret, in PEM; missing parts are empty."""

    current: Pem = NOTHING
    """The certificate that the servers present."""
    ca_bundle: str = ""
    """The authorities of all certificates that may be presented, newest first."""
    next: Pem = NOTHING
    """The next certificate."""


def advance(state: CertificateState, hosts: Sequence[str], moment: datetime.datetime, *, trusted: bool) -> CertificateState:
    """Return the next state, possibly the same. `trusted`: the host trusts all authorities of the state."""
    authorities = renewal.still_valid(state.ca_bundle, moment)
    if not _works(state.current, authorities, moment):
        # no client accepts the current certificate, so replace it at once
        new, authority = _new(hosts, moment)
        return CertificateState(new, "".join([authority, *authorities]))
    bundle = "".join(authorities)
    if _is_fresh(state.next, authorities, hosts, moment):
        return CertificateState(state.next, bundle) if trusted else CertificateState(state.current, bundle, state.next)
    if _is_fresh(state.current, authorities, hosts, moment):
        return CertificateState(state.current, bundle)
    new, authority = _new(hosts, moment)
    return CertificateState(state.current, "".join([authority, *authorities]), new)


def _new(hosts: Sequence[str], moment: datetime.datetime) -> tuple[Pem, str]:
    """Return a new certificate, and the certificate of its authority, which expires with it."""
    name = f"apiext-serving-ca@{int(moment.timestamp())}"
    authority = issuing.new_authority(name, moment, lifetime=issuing.LIFETIME)
    return issuing.issue_serving(authority, hosts, moment), authority.cert


def _works(pair: Pem, authorities: Sequence[str], moment: datetime.datetime) -> bool:
    """Return whether clients that trust the authorities accept a certificate."""
    life = certificate.validity(pair.cert)
    valid = life is not None and life[0] <= moment < life[1]
    return valid and issuing.belong_together(pair) and bool(_issuer(pair, authorities))


def _is_fresh(pair: Pem, authorities: Sequence[str], hosts: Sequence[str], moment: datetime.datetime) -> bool:
    """Return whether clients accept a certificate for all hosts, and its renewal is not due."""
    works = _works(pair, authorities, moment) and certificate.covers(pair.cert, hosts)
    return works and not renewal.is_due(pair.cert, _issuer(pair, authorities), moment)


def _issuer(pair: Pem, authorities: Sequence[str]) -> str:
    return next((authority for authority in authorities if certificate.is_issued_by(pair.cert, authority)), "")
