"""The gRPC client of a plugin (apiserver pkg/storage/value/encrypt/envelope/kmsv2/grpc_service.go)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import grpc
import grpc.aio

from apiext.storage.value.kms.messages import MESSAGES
from apiext.storage.value.transformation_stats import OK
from apiext.storage.value.transformer import TransformError

if TYPE_CHECKING:
    from apiext.storage.value.configuration import KMSProvider
    from apiext.storage.value.kms.kms_stats import KMSStats

_SERVICE: Final = "/v2.KeyManagementService/"
_OTHER_NAMES: Final = {grpc.StatusCode.OK: OK, grpc.StatusCode.CANCELLED: "Canceled"}
_METHODS: Final = ("Status", "Encrypt", "Decrypt")


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
