"""Contexts of TLS clients, which accept the servers' certificates that Go's clients accept."""

import ssl
from pathlib import Path


def trusting_context(*, cafile: str | Path | None = None, cadata: str | bytes | None = None) -> ssl.SSLContext:
    """Return the context of a client that trusts authorities in PEM (DER if bytes), by default those of the system.

    From 3.13 on, Python refuses certificates without an identifier of their authority's key by default. Go does not, and those that
    kube-apiserver makes have none.

    Raises:
        OSError: The file cannot be read, or an authority is no certificate.
    """
    context = ssl.create_default_context(cafile=cafile, cadata=cadata)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
