"""Watches the Secret of the servers' certificate, and rotates it in time. Never overwrites a concurrent write of another client.

The keys are `tls.crt`, `tls.key` and `ca.crt` as usual, and `next.crt` and `next.key` for the next certificate.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import datetime
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from apiext.base.cert import certificate, issuing, renewal
from apiext.base.cert.issuing import Pem
from apiext.base.meta.host_annotations import MANAGED_BY, MANAGER
from apiext.base.meta.log import get_logger
from apiext.base.webhook.reflector import Reflector, single_object
from apiext.operator.api_clients import ApiClient, ApiError, Json
from apiext.operator.ca_bundle import CABundleSource
from apiext.operator.group_state import annotations_of
from apiext.operator.names import NamespacedName

PROPAGATION_SECONDS: Final = 10.0
"""Seconds from the update of the APIServices until all servers of the host use the new CA bundle."""
OVERLAP_SECONDS: Final = 3600.0
"""Seconds that an authority stays in the CA bundle after its removal from the Secret: servers may still present its certificate."""
_RESYNC_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 2.0
_CONFLICT: Final = 409
_CERT_MANAGER: Final = "cert-manager.io/certificate-name"
_KEYS: Final = ("tls.crt", "tls.key", "ca.crt", "next.crt", "next.key")
_LOG: Final = get_logger(__name__)

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


def certificate_hosts(service: NamespacedName, server: str) -> list[str]:
    """Return the names that the certificate needs: the DNS names of the Service, and the host of another URL."""
    name = f"{service.name}.{service.namespace}"
    hosts = [service.host, f"{service.host}.cluster.local", name, service.name, urlsplit(server).hostname or ""]
    return list(dict.fromkeys(filter(None, hosts)))


class ServingSecret(CABundleSource):
    """The certificate of the servers for these hosts; with `manage` this class rotates it, else it only reads it.

    The user waits for `changed`, writes the CA bundle to the APIServices, and then calls `mark_distributed`.
    """

    def __init__(
        self,
        host: ApiClient,
        secret: NamespacedName,
        *,
        hosts: Sequence[str],
        manage: bool,
        moment: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._host = host
        self._secret = secret
        self._collection = f"/api/v1/namespaces/{secret.namespace}/secrets"
        self._hosts = hosts
        self._manage = manage
        self._moment = moment
        self._clock = clock
        self._trust = TrustBundle(clock=clock)
        self._wake = asyncio.Event()
        self._distributed: tuple[frozenset[str], float] = (frozenset(), 0.0)
        """The certificates that the APIServices have, and since when."""
        self._problem = ""

    def mark_distributed(self, bundle: str) -> None:
        """Note that all APIServices have a CA bundle."""
        self._distributed = frozenset(certificate.certificates(bundle)), self._clock()
        self._wake.set()

    async def run(self) -> None:
        """Watch and rotate until cancelled."""
        watching = asyncio.create_task(self._watch())
        try:
            while True:
                self._wake.clear()
                seconds = await self._reconcile_or_retry()
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._wake.wait()
        finally:
            watching.cancel()

    async def _watch(self) -> None:
        """Reconcile soon after each change of the Secret, until cancelled."""
        collection = single_object(self._collection, self._secret.name)
        await Reflector(self._host.client, collection, _ChangeNotifier(self._wake.set)).run()

    async def _reconcile_or_retry(self) -> float:
        """Reconcile the Secret; return the seconds until the next call."""
        try:
            return await self.reconcile()
        except ApiError as error:
            if error.code != _CONFLICT:
                self._report_problem(str(error))
            return _RETRY_SECONDS

    async def reconcile(self) -> float:
        """Take the next step of the rotation if it is due; return the seconds until the next call. Raises ApiError."""
        secret = await self._host.find(f"{self._collection}/{self._secret.name}")
        state = read_state(secret) if secret else CertificateState()
        foreign = secret is not None and _CERT_MANAGER in annotations_of(secret)
        if self._manage and not foreign:
            state = await self._advance(secret, state)
        authorities = renewal.still_valid(state.ca_bundle, self._moment())
        self.publish(self._trust.bundle(authorities))
        self._report_problem(_problem(secret, authorities, conflict=self._manage and foreign))
        waits = bool(state.next.cert) and bool(self._distributed[0])
        return max(self._distributed[1] + PROPAGATION_SECONDS - self._clock(), 1.0) if waits else _RESYNC_SECONDS

    async def _advance(self, secret: Json | None, state: CertificateState) -> CertificateState:
        """Write the next state of the rotation to the Secret, if it differs, and return it."""
        following = advance(state, self._hosts, self._moment(), trusted=self._is_trusted(state))
        if following == state:
            return state
        new = _with_state(secret or _new_secret(self._secret), following)
        if secret is None:
            await self._host.post(self._collection, new)
        else:
            await self._host.put(f"{self._collection}/{self._secret.name}", new)
        _LOG.info("serving certificate rotated", secret=str(self._secret), step=_step(state, following))
        return following

    def _is_trusted(self, state: CertificateState) -> bool:
        distributed, since = self._distributed
        return distributed.issuperset(certificate.certificates(state.ca_bundle)) and self._clock() >= since + PROPAGATION_SECONDS

    def _report_problem(self, problem: str) -> None:
        """Log a new problem; an empty text means no problem."""
        if problem and problem != self._problem:
            _LOG.error("serving certificate Secret unusable, retrying", secret=str(self._secret), error=problem)
        self._problem = problem


class TrustBundle:
    """The CA bundle: the authorities in the Secret, and authorities that it lost within the last OVERLAP_SECONDS."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, float] = {}

    def bundle(self, published: Sequence[str]) -> str:
        """Return the authorities in the Secret in their order, then the earlier ones; for an empty Secret the last bundle."""
        moment = self._clock()
        if published:
            before = {pem: seen for pem, seen in self._seen.items() if moment - seen < OVERLAP_SECONDS and pem not in published}
            self._seen = dict.fromkeys(published, moment) | before
        return "".join(self._seen)


class _ChangeNotifier:
    """Calls back for each event of a watch (implements webhook.reflector.Follower)."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change

    def replaced(self, objects: Sequence[dict[str, Any]]) -> None:
        self._on_change()

    def changed(self, found: dict[str, Any]) -> None:
        self._on_change()

    def deleted(self, found: dict[str, Any]) -> None:
        self._on_change()


def _new_secret(secret: NamespacedName) -> Json:
    labels = {MANAGED_BY: MANAGER, "app.kubernetes.io/part-of": "apiext"}
    metadata = {"namespace": secret.namespace, "name": secret.name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls"}


def read_state(secret: Json) -> CertificateState:
    """Return the certificates of a Secret; an unreadable value counts as missing."""
    data = secret.get("data") or {}
    current, current_key, ca_bundle, following, following_key = (_text(data.get(key)) for key in _KEYS)
    return CertificateState(Pem(current, current_key), ca_bundle, Pem(following, following_key))


def _with_state(secret: Json, state: CertificateState) -> Json:
    """Return the Secret with other certificates."""
    texts = (*state.current, state.ca_bundle, *state.next)
    new = {key: base64.b64encode(text.encode()).decode() for key, text in zip(_KEYS, texts, strict=True) if text}
    others = {key: value for key, value in (secret.get("data") or {}).items() if key not in _KEYS}
    return {**secret, "data": {**others, **new}}


def _text(value: Any) -> str:
    try:
        return base64.b64decode(value or "", validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError, TypeError):
        return ""


def _problem(secret: Json | None, authorities: Sequence[str], *, conflict: bool) -> str:
    if conflict:
        return "it is cert-manager's; --no-manage-serving-secret leaves it to it"
    if authorities:
        return ""
    return "there is no such Secret" if secret is None else "its ca.crt has no certificate that is valid now"


def _step(before: CertificateState, after: CertificateState) -> str:
    if after.next.cert and after.next != before.next:
        return "new authority published"
    return "new certificate in use" if after.current != before.current else "expired authority removed"
