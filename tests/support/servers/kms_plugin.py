"""A KMS plugin of API version v2 that hides nothing, at a unix socket."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import grpc

from apiext.storage.value.kms.messages import MESSAGES

_MARK = b"sealed by "


class KMSPlugin:
    """Encrypts by putting its key in front. `encrypted` and `decrypted` count the calls of Encrypt and Decrypt."""

    def __init__(self, folder: Path) -> None:
        # a socket's path is short
        self.path = folder / "kms.sock"
        self.key = "key-1"
        self.healthz = "ok"
        self.encrypted = self.decrypted = 0
        self._server: Any = None

    @property
    def endpoint(self) -> str:
        """Return the endpoint of a configuration."""
        return f"unix://{self.path}"

    def start(self) -> Self:
        """Answer calls."""
        self._server = grpc.server(ThreadPoolExecutor(2))
        methods = {"Status": self._status, "Encrypt": self._encrypt, "Decrypt": self._decrypt}
        handlers = {name: _handler(name, method) for name, method in methods.items()}
        self._server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("v2.KeyManagementService", handlers)])
        self._server.add_insecure_port(f"unix:{self.path}")
        self._server.start()
        return self

    def stop(self) -> None:
        """Stop; calls that wait for the plugin go on when it starts again."""
        self._server.stop(None).wait()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    def _status(self, _request: Any, _context: Any) -> Any:
        return MESSAGES["StatusResponse"](version="v2", healthz=self.healthz, key_id=self.key)

    def _encrypt(self, request: Any, _context: Any) -> Any:
        self.encrypted += 1
        sealed = _MARK + self.key.encode() + b":" + request.plaintext
        return MESSAGES["EncryptResponse"](ciphertext=sealed, key_id=self.key, annotations={"version.example.com": b"1"})

    def _decrypt(self, request: Any, context: Any) -> Any:
        self.decrypted += 1
        mark = _MARK + request.key_id.encode() + b":"
        if not request.ciphertext.startswith(mark) or dict(request.annotations) != {"version.example.com": b"1"}:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not sealed here")
        return MESSAGES["DecryptResponse"](plaintext=request.ciphertext.removeprefix(mark))


def _handler(name: str, method: Callable[[Any, Any], Any]) -> Any:
    return grpc.unary_unary_rpc_method_handler(
        method,
        request_deserializer=MESSAGES[f"{name}Request"].FromString,
        response_serializer=MESSAGES[f"{name}Response"].SerializeToString,
    )
