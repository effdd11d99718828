"""What TLS needs to reach etcd: whom to trust, and who we are."""

from __future__ import annotations

import ssl
from pathlib import Path

from apiext.storage.etcd.config import EtcdConfig, EtcdConfigError


def tls_context(config: EtcdConfig) -> ssl.SSLContext:
    """A context from the files as they are now.

    Raises:
        EtcdConfigError: a file cannot be read or used.
    """
    if bool(config.certfile) != bool(config.keyfile):
        raise EtcdConfigError("the client certificate for etcd and its key must be given together")
    for path in (config.cafile, config.certfile, config.keyfile):
        _check(path)
    try:
        context = ssl.create_default_context(cafile=config.cafile or None)
        if config.certfile:
            context.load_cert_chain(config.certfile, config.keyfile)
    except ssl.SSLError as error:
        raise EtcdConfigError(f"the certificates for etcd cannot be used: {error.reason or error}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    return context


def _check(path: str) -> None:
    try:
        if path:
            Path(path).read_bytes()
    except OSError as error:
        raise EtcdConfigError(f"cannot read {path}: {error.strerror}") from error
