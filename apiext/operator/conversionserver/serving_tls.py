"""The certificate that this webhook presents: from a Secret of the cluster, or from files."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from apiext.api.authentication.client_certificate import CertificateAuthorities, PeerIdentification
from apiext.base.cert.issuing import belong_together
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import run_until_closed
from apiext.base.webhook.reflector import Reflector, single_object
from apiext.operator.serving_certificate.secret import read_state
from apiext.server.start_error import StartError
from apiext.server.tls.certificate_rotation import CertificateRotation, WatchedFiles
from apiext.server.tls.context import CertKey, TLSError
from apiext.server.tls.dynamic_tls import DynamicTLS
from apiext.server.tls.server_pki import KeyPair

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AsyncExitStack

    from apiext.operator.api_clients import ApiClient, Json
    from apiext.operator.names import NamespacedName

_LOG: Final = get_logger(__name__)
_NOBODY: Final = PeerIdentification(clients=CertificateAuthorities(b""))
"""No client is asked for a certificate: kube-apiserver has none for webhooks unless it is configured."""


def tls_of_files(files: KeyPair, min_version: str, stack: AsyncExitStack) -> DynamicTLS:
    """Return TLS with the certificate of files, which are read again when they change, until `stack` closes.

    Raises:
        StartError: they are no certificate and its key.
    """
    try:
        tls = DynamicTLS([CertKey.read(files)], _NOBODY, min_version=min_version)
    except TLSError as error:
        raise StartError(str(error)) from error
    watched = WatchedFiles([files.cert, files.key], lambda: tls.set_certificate(CertKey.read(files)))
    run_until_closed(stack, CertificateRotation([watched], lambda: None).run())
    return tls


async def tls_of_secret(host: ApiClient, secret: NamespacedName, min_version: str, stack: AsyncExitStack) -> DynamicTLS:
    """Return TLS with the certificate of a Secret, which is followed until `stack` closes. Wait until there is one."""
    follower = SecretCertificate(secret, min_version)
    collection = single_object(f"/api/v1/namespaces/{secret.namespace}/secrets", secret.name)
    run_until_closed(stack, Reflector(host.client, collection, follower).run())
    return await follower.tls


class SecretCertificate:
    """The certificate in a Secret (implements webhook.reflector.Follower). One that cannot be used leaves the last one in use."""

    def __init__(self, secret: NamespacedName, min_version: str) -> None:
        self._secret = str(secret)
        self._min_version = min_version
        self.tls: asyncio.Future[DynamicTLS] = asyncio.get_running_loop().create_future()
        """TLS with the certificate, once there is one."""

    def replaced(self, objects: Sequence[dict[str, Any]]) -> None:
        """Implement Follower.replaced."""
        for found in objects:
            self.changed(found)

    def changed(self, found: Json) -> None:
        """Implement Follower.changed."""
        pair = read_state(found).current
        if not belong_together(pair):
            if pair.cert:
                _LOG.error("serving certificate of the Secret unusable, keeping the last one", secret=self._secret)
            return
        key = CertKey(pair.cert.encode(), pair.key.encode(), f"the certificate of Secret {self._secret}")
        if not self.tls.done():
            self.tls.set_result(DynamicTLS([key], _NOBODY, min_version=self._min_version))
        elif self.tls.result().set_certificate(key):
            _LOG.info("serving certificate replaced", secret=self._secret)

    def deleted(self, found: Json) -> None:
        """Implement Follower.deleted: the last certificate stays in use."""
