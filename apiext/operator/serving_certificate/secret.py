"""The Secret, read as it changes, and written when it is time to. Who writes at the same moment is never overwritten."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from apiext.cert import certificate, renewal
from apiext.meta.log import get_logger
from apiext.operator.api_clients import ApiError
from apiext.operator.ca_bundle import Announced
from apiext.operator.serving_certificate import secret_data
from apiext.operator.serving_certificate.rotation import Kept, advance
from apiext.operator.serving_certificate.trust_bundle import Trust

if TYPE_CHECKING:
    from apiext.operator.api_clients import Json

SETTLING: Final = 10.0
"""Seconds from when the host has been told of an authority until all of its servers believe it."""
_LOOK: Final = 60.0
"""Seconds between looks, whatever happens."""
_AGAIN: Final = 2.0
"""Seconds until another attempt where one has failed."""
_CONFLICT: Final = 409
_LOG: Final = get_logger(__name__)

Watch = Callable[[Callable[[], None]], Coroutine[Any, Any, None]]
"""Calls back when the Secret may have changed, until it is cancelled."""


class Secrets(Protocol):
    """What is needed of the host. All of it raises ApiError."""

    async def find(self, path: str) -> Json | None:
        """An object, None where there is none."""
        ...

    async def post(self, path: str, body: Any) -> Json:
        """Create."""
        ...

    async def put(self, path: str, body: Any) -> Json:
        """Replace."""
        ...


def now() -> datetime.datetime:
    """The moment, as the system's clock has it."""
    return datetime.datetime.now(datetime.UTC)


class ServingSecret(Announced):
    """The servers' certificate for the hosts: kept here with `manage`, else by somebody else and only read.

    Whoever tells the host whom to believe waits for `changed`, and calls `spread` when the host has been told.
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
        self._trust = Trust(clock=clock)
        self._look_now = asyncio.Event()
        self._spread: tuple[frozenset[str], float] = (frozenset(), 0.0)
        self._problem = ""

    def spread(self, bundle: str) -> None:
        """The host has been told to believe these authorities, wherever it has to."""
        self._spread = frozenset(certificate.certificates(bundle)), self._clock()
        self._look_now.set()

    async def run(self) -> None:
        """Look after the Secret until it is cancelled."""
        watching = asyncio.create_task(self._watch(self._look_now.set))
        try:
            while True:
                self._look_now.clear()
                seconds = await self._looked()
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._look_now.wait()
        finally:
            watching.cancel()

    async def _looked(self) -> float:
        """Look; seconds until the next time."""
        try:
            seconds = await self.look()
        except ApiError as error:
            if error.code != _CONFLICT:
                self._complain(str(error))
            return _AGAIN
        return seconds

    async def look(self) -> float:
        """Do what is due; seconds until something else may be. Raises ApiError."""
        secret = await self._host.find(f"{_collection(self._namespace)}/{self._name}")
        kept = secret_data.read(secret) if secret else Kept()
        foreign = secret is not None and secret_data.is_cert_managers(secret)
        if self._manage and not foreign:
            kept = await self._advanced(secret, kept)
        authorities = renewal.still_valid(kept.authorities, self._moment())
        self.announce(self._trust.bundle(authorities))
        self._complain(_problem(secret, authorities, unwelcome=self._manage and foreign))
        waits = bool(kept.coming.cert) and bool(self._spread[0])
        return max(self._spread[1] + SETTLING - self._clock(), 1.0) if waits else _LOOK

    async def _advanced(self, secret: Json | None, kept: Kept) -> Kept:
        """The state that follows, which is in the Secret by then."""
        following = advance(kept, self._hosts, self._moment(), believed=self._is_believed(kept))
        if following == kept:
            return kept
        new = secret_data.with_kept(secret or secret_data.new_secret(self._namespace, self._name), following)
        if secret is None:
            await self._host.post(_collection(self._namespace), new)
        else:
            await self._host.put(f"{_collection(self._namespace)}/{self._name}", new)
        _LOG.info("the serving certificate moves on", secret=f"{self._namespace}/{self._name}", step=_step(kept, following))
        return following

    def _is_believed(self, kept: Kept) -> bool:
        believed, since = self._spread
        return believed.issuperset(certificate.certificates(kept.authorities)) and self._clock() >= since + SETTLING

    def _complain(self, problem: str) -> None:
        """Log a problem that is another one than before; empty for none."""
        if problem and problem != self._problem:
            _LOG.error("the serving certificate is not as it should be", secret=f"{self._namespace}/{self._name}", error=problem)
        self._problem = problem


def _problem(secret: Json | None, authorities: Sequence[str], *, unwelcome: bool) -> str:
    if unwelcome:
        return "it is cert-manager's; --no-manage-serving-secret leaves it to it"
    if authorities:
        return ""
    return "there is no such Secret" if secret is None else "its ca.crt has no certificate that is valid now"


def _collection(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/secrets"


def _step(before: Kept, after: Kept) -> str:
    if after.coming.cert and after.coming != before.coming:
        return "a new authority is made known"
    return "a new certificate is shown" if after.shown != before.shown else "an authority that has ended is forgotten"
