"""Decides when to renew certificates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.cert import certificate

if TYPE_CHECKING:
    import datetime

RENEW_AT: Final = 0.8
"""The share of a certificate's lifetime after which it is renewed."""


def is_due(pem: str, authority: str, moment: datetime.datetime) -> bool:
    """Return whether to issue a certificate again: after RENEW_AT of its lifetime, or if another authority issued it."""
    life = certificate.validity(pem)
    if life is None or not certificate.is_issued_by(pem, authority):
        return True
    return moment >= life[0] + (life[1] - life[0]) * RENEW_AT


def still_valid(bundle: str, moment: datetime.datetime) -> list[str]:
    """Return the certificates of a bundle that have not expired."""
    ends = ((pem, certificate.end_of_validity(pem)) for pem in certificate.certificates(bundle))
    return [pem for pem, end in ends if end is not None and end > moment]
