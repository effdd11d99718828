"""The gRPC client of a plugin (apiserver pkg/storage/value/encrypt/envelope/kmsv2/grpc_service.go).

Kms stats: apiserver pkg/storage/value/encrypt/envelope/metrics.
"""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import grpc
import grpc.aio

from apiext.base.scheduling.histogram import Histogram
from apiext.storage.value.kms.messages import MESSAGES
from apiext.storage.value.transformer import DURATIONS, OK, TransformError

if TYPE_CHECKING:
    from apiext.storage.value.configuration import KMSProvider

_SERVICE: Final = "/v2.KeyManagementService/"
_OTHER_NAMES: Final = {grpc.StatusCode.OK: OK, grpc.StatusCode.CANCELLED: "Canceled"}
_METHODS: Final = ("Status", "Encrypt", "Decrypt")


CALL_DURATIONS: Final = tuple(0.0001 * 2**power for power in range(20))
"""Upper bounds of the durations of calls, in seconds."""
_KEPT: Final = 100
"""Keys that are counted; the oldest ones are forgotten."""


def hash_of(text: str) -> str:
    """Return a text's hash, as messages and metrics show it; empty for an empty text."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" if text else ""


class KMSStats:
    """Counts the calls of plugins, and the use of their keys."""

    def __init__(self) -> None:
        self.calls: dict[tuple[str, str, str], Histogram] = {}
        """Durations by plugin, method and gRPC status."""
        self.keys: dict[tuple[str, str, str], tuple[int, float]] = {}
        """Number of uses and time of the last one, by transformation type, plugin and key."""
        self.reported_keys: dict[tuple[str, str], float] = {}
        """The time when a plugin last reported a key, by plugin and key."""
        self.invalid_keys: dict[tuple[str, str], int] = {}
        """Invalid key ids of plugins, by plugin and error."""
        self.data_keys = Histogram(DURATIONS[:14])
        """Durations of the generation of seeds."""
        self.cache_misses = 0
        """Number of values whose seed was not known."""
        self.cached_seeds: dict[str, int] = {}
        """Number of decrypted seeds by plugin."""

    def call(self, plugin: str, method: str, code: str, seconds: float) -> None:
        """Count a call."""
        what = plugin, method, code
        if what not in self.calls:
            self.calls[what] = Histogram(CALL_DURATIONS)
        self.calls[what].observe(seconds)

    def use(self, type_: str, plugin: str, key: str) -> None:
        """Count the use of a key."""
        what = type_, plugin, key
        number, _ = self.keys.pop(what, (0, 0.0))
        self.keys[what] = number + 1, time.time()
        if len(self.keys) > _KEPT:
            del self.keys[next(iter(self.keys))]

    def report(self, plugin: str, key: str) -> None:
        """Record a key that a plugin has reported."""
        self.reported_keys.pop((plugin, key), None)
        self.reported_keys[plugin, key] = time.time()
        if len(self.reported_keys) > _KEPT:
            del self.reported_keys[next(iter(self.reported_keys))]

    def refuse(self, plugin: str, error: str) -> None:
        """Count an invalid key id."""
        self.invalid_keys[plugin, error] = self.invalid_keys.get((plugin, error), 0) + 1


class KMSService:
    """Calls the methods of a plugin at a unix socket. A call waits for a plugin that is not there until its timeout."""

    def __init__(self, provider: KMSProvider, stats: KMSStats) -> None:
        self._provider = provider
        self._stats = stats
        # the other defaults are for servers at addresses: proxies, and tracing
        options = [("grpc.default_authority", "localhost"), ("grpc.enable_http_proxy", 0), ("grpc.max_reconnect_backoff_ms", 3000)]
        self._channel = grpc.aio.insecure_channel(_address(provider.endpoint), options=options)
        self._calls = {
            name: self._channel.unary_unary(
                _SERVICE + name,
                request_serializer=MESSAGES[f"{name}Request"].SerializeToString,
                response_deserializer=MESSAGES[f"{name}Response"].FromString,
            )
            for name in _METHODS
        }

    async def status(self) -> Any:
        """Return the StatusResponse. Raises TransformError."""
        return await self._call("Status")

    async def encrypt(self, uid: str, plaintext: bytes) -> Any:
        """Return the EncryptResponse for a key or seed. Raises TransformError."""
        return await self._call("Encrypt", plaintext=plaintext, uid=uid)

    async def decrypt(self, uid: str, message: Any) -> bytes:
        """Return the key or seed of a stored EncryptedObject. Raises TransformError."""
        found = await self._call(
            "Decrypt", ciphertext=message.dek_source, uid=uid, key_id=message.key_id, annotations=dict(message.annotations)
        )
        plaintext: bytes = found.plaintext
        return plaintext

    async def _call(self, name: str, **fields: Any) -> Any:
        # a call that this server ends, or that begins after the end, is not OK
        begun, code = time.perf_counter(), _go_name(grpc.StatusCode.CANCELLED)
        try:
            answer = await self._calls[name](MESSAGES[f"{name}Request"](**fields), timeout=self._provider.timeout, wait_for_ready=True)
            code = OK
        except grpc.aio.AioRpcError as error:
            code = _go_name(error.code())
            raise TransformError(f"rpc error: code = {code} desc = {error.details()}", code) from error
        except grpc.aio.UsageError as error:
            raise TransformError(f"the connection to the KMS plugin {self._provider.name} is closed") from error
        finally:
            self._stats.call(self._provider.name, _SERVICE + name, code, time.perf_counter() - begun)
        return answer

    async def close(self) -> None:
        """Close the connection."""
        await self._channel.close()


def _address(endpoint: str) -> str:
    """Return a plugin's endpoint as gRPC names it: a path, or after @ a name without a file."""
    path = urlsplit(endpoint).path
    return f"unix-abstract:{path[2:]}" if path.startswith("/@") else f"unix:{path}"


def _go_name(code: grpc.StatusCode) -> str:
    """Return the name of a status in Go."""
    return _OTHER_NAMES.get(code) or "".join(part.capitalize() for part in code.name.split("_"))
