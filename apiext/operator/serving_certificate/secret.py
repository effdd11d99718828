"""The Secret of the servers' certificate: watched, and rotated in time. A concurrent write of another client is never overwritten.

The keys are `tls.crt`, `tls.key` and `ca.crt` as usual, and `next.crt` and `next.key` for the next certificate.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import datetime
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

from apiext.cert import certificate, renewal
from apiext.cert.issuing import Pem
from apiext.meta.log import get_logger
from apiext.operator.api_clients import ApiError
from apiext.operator.apiservices.ownership import MANAGED_BY, MANAGER
from apiext.operator.ca_bundle import PublishedBundle
from apiext.operator.serving_certificate.rotation import CertificateState, advance
from apiext.webhook.reflector import Reflector, single_object

if TYPE_CHECKING:
    from apiext.operator.api_clients import ApiClient, Json

PROPAGATION_SECONDS: Final = 10.0
"""Time from the update of the APIServices until all servers of the host use the new CA bundle."""
OVERLAP_SECONDS: Final = 3600.0
"""Time for which an authority stays in the CA bundle after it was removed from the Secret: servers may still present its certificate."""
_RESYNC_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 2.0
_CONFLICT: Final = 409
_CERT_MANAGER: Final = "cert-manager.io/certificate-name"
_KEYS: Final = ("tls.crt", "tls.key", "ca.crt", "next.crt", "next.key")
_LOG: Final = get_logger(__name__)

Watch = Callable[[Callable[[], None]], Coroutine[Any, Any, None]]
"""Calls back when the Secret may have changed, until cancelled."""


class Secrets(Protocol):
    """The calls of the host's API that ServingSecret needs. All raise ApiError."""

    async def find(self, path: str) -> Json | None:
        """Return the object at a path, None if there is none."""
        ...

    async def post(self, path: str, body: Any) -> Json:
        """Create an object."""
        ...

    async def put(self, path: str, body: Any) -> Json:
        """Replace an object."""
        ...


def now() -> datetime.datetime:
    """Return the current time."""
    return datetime.datetime.now(datetime.UTC)


def open_serving_secret(
    host: ApiClient, *, secret: tuple[str, str], service: tuple[str, str], server: str = "", manage: bool = True
) -> ServingSecret:
    """Return the Secret of the certificate of a Service, both as namespace and name; `server` is another URL of the Service."""
    namespace, name = secret
    hosts = [*hosts_of(*service), urlsplit(server).hostname or ""]

    async def watch(on_change: Callable[[], None]) -> None:
        await Reflector(host.client, single_object(f"/api/v1/namespaces/{namespace}/secrets", name), _ChangeNotifier(on_change)).run()

    return ServingSecret(host, watch, namespace=namespace, name=name, hosts=list(dict.fromkeys(filter(None, hosts))), manage=manage)


def hosts_of(namespace: str, service: str) -> list[str]:
    """Return the DNS names of a Service; kube-apiserver uses the first."""
    name = f"{service}.{namespace}"
    return [f"{name}.svc", f"{name}.svc.cluster.local", name, service]


class ServingSecret(PublishedBundle):
    """The certificate of the servers for these hosts: rotated here with `manage`, else only read.

    The user waits for `changed`, writes the CA bundle to the APIServices, and then calls `mark_distributed`.
    """

    def __init__(
        self,
        host: Secrets,
        watch: Watch,
        *,
        namespace: str,
        name: str,
        hosts: Sequence[str] = (),
        manage: bool = True,
        moment: Callable[[], datetime.datetime] = now,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._host = host
        self._watch = watch
        self._namespace = namespace
        self._name = name
        self._hosts = list(hosts)
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
        watching = asyncio.create_task(self._watch(self._wake.set))
        try:
            while True:
                self._wake.clear()
                seconds = await self._reconcile_or_retry()
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._wake.wait()
        finally:
            watching.cancel()

    async def _reconcile_or_retry(self) -> float:
        """Reconcile the Secret; return the seconds until the next call."""
        try:
            return await self.reconcile()
        except ApiError as error:
            if error.code != _CONFLICT:
                self._report_problem(str(error))
            return _RETRY_SECONDS

    async def reconcile(self) -> float:
        """Take the step of the rotation that is due; return the seconds until the next one may be. Raises ApiError."""
        secret = await self._host.find(f"{_collection(self._namespace)}/{self._name}")
        state = read_state(secret) if secret else CertificateState()
        foreign = secret is not None and is_cert_managers(secret)
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
        new = with_state(secret or new_secret(self._namespace, self._name), following)
        if secret is None:
            await self._host.post(_collection(self._namespace), new)
        else:
            await self._host.put(f"{_collection(self._namespace)}/{self._name}", new)
        _LOG.info("serving certificate rotated", secret=f"{self._namespace}/{self._name}", step=_step(state, following))
        return following

    def _is_trusted(self, state: CertificateState) -> bool:
        distributed, since = self._distributed
        return distributed.issuperset(certificate.certificates(state.ca_bundle)) and self._clock() >= since + PROPAGATION_SECONDS

    def _report_problem(self, problem: str) -> None:
        """Log a problem when it appears; empty for none."""
        if problem and problem != self._problem:
            _LOG.error("serving certificate Secret unusable, retrying", secret=f"{self._namespace}/{self._name}", error=problem)
        self._problem = problem


class TrustBundle:
    """The CA bundle: the authorities in the Secret, and those that were there during the last OVERLAP_SECONDS."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, float] = {}

    def bundle(self, published: Sequence[str]) -> str:
        """Return the authorities in the Secret in their order, then the earlier ones; without any in the Secret, the last bundle."""
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


def new_secret(namespace: str, name: str) -> Json:
    """Return a Secret without data."""
    labels = {MANAGED_BY: MANAGER, "app.kubernetes.io/part-of": "apiext"}
    metadata = {"namespace": namespace, "name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls"}


def read_state(secret: Json) -> CertificateState:
    """Return the certificates of a Secret; an unreadable value counts as missing."""
    data = secret.get("data") or {}
    current, current_key, ca_bundle, following, following_key = (_text(data.get(key)) for key in _KEYS)
    return CertificateState(Pem(current, current_key), ca_bundle, Pem(following, following_key))


def with_state(secret: Json, state: CertificateState) -> Json:
    """Return the Secret with other certificates."""
    texts = (*state.current, state.ca_bundle, *state.next)
    new = {key: base64.b64encode(text.encode()).decode() for key, text in zip(_KEYS, texts, strict=True) if text}
    others = {key: value for key, value in (secret.get("data") or {}).items() if key not in _KEYS}
    return {**secret, "data": {**others, **new}}


def is_cert_managers(secret: Json) -> bool:
    """Return whether cert-manager manages a Secret."""
    return _CERT_MANAGER in (secret.get("metadata", {}).get("annotations") or {})


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


def _collection(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/secrets"


def _step(before: CertificateState, after: CertificateState) -> str:
    if after.next.cert and after.next != before.next:
        return "new authority published"
    return "new certificate in use" if after.current != before.current else "expired authority removed"
