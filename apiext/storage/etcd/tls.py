"""TLS contexts for connections to etcd. The certificate files may be rotated at any time."""

from __future__ import annotations

import ssl

from apiext.base.meta.log import get_logger
from apiext.base.tls_trust import trusting_context
from apiext.storage.etcd.config import EtcdConfig, EtcdConfigError

_log = get_logger(__name__)


class TlsContextLoader:
    """Reads the certificate files for each new connection."""

    def __init__(self, config: EtcdConfig) -> None:
        """Read the files once.

        Raises:
            EtcdConfigError: a file cannot be read or used.
        """
        self._config = config
        self._context = _load(config)
        self._failure = ""

    def load(self) -> ssl.SSLContext:
        """Return a context from the current files, or the previous one while they are missing, half-written or mismatched."""
        try:
            self._context = _load(self._config)
        except EtcdConfigError as error:
            if self._failure != str(error):
                self._failure = str(error)
                _log.warning("etcd certificates cannot be reloaded, using the previous ones", error=self._failure)
        else:
            self._failure = ""
        return self._context


def _load(config: EtcdConfig) -> ssl.SSLContext:
    if bool(config.certfile) != bool(config.keyfile):
        raise EtcdConfigError("the client certificate for etcd and its key must be given together")
    for path in filter(None, (config.cafile, config.certfile, config.keyfile)):
        try:
            path.read_bytes()
        except OSError as error:
            raise EtcdConfigError(f"cannot read {path}: {error.strerror}") from error
    try:
        context = trusting_context(cafile=config.cafile)
        if config.certfile:
            context.load_cert_chain(config.certfile, config.keyfile)
    except ssl.SSLError as error:
        raise EtcdConfigError(f"the certificates for etcd cannot be used: {error.reason or error}") from error
    except OSError as error:  # removed after the check
        raise EtcdConfigError(f"the certificates for etcd cannot be read: {error.strerror}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    return context
