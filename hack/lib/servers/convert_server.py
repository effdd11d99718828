"""Runs `apiext convert serve` as a child process."""

import http.client
import ssl
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from apiext.base.tls_trust import trusting_context
from hack.lib.servers.process import Process, Service, environment, free_port

_PROBE_SECONDS = 5.0
"""Seconds to wait for an answer of /readyz, as in the manifests."""


class ConvertServer(Service):
    """A replica of the conversion webhook. Like a kubelet, its probe does not verify the certificate."""

    patience = 60.0

    def __init__(self, process: Process, port: int) -> None:
        self.process = process
        self.port = port
        self._context = trusting_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE

    @classmethod
    def of_command(cls, folder: Path, flags: Sequence[str], env: Mapping[str, str] | None = None) -> "ConvertServer":
        """Return a replica with these flags on a free port of the loopback address, which kube-apiserver calls by its URL."""
        port = free_port()
        own = ["--bind-address=127.0.0.1", f"--secure-port={port}", f"--url=https://127.0.0.1:{port}/convert", *flags]
        return cls(
            Process([sys.executable, "-m", "apiext", "convert", "serve", *own], folder / "convert.log", environment(**(env or {}))), port
        )

    @property
    def log(self) -> str:
        """Return the log."""
        return self.process.log.read_text(errors="replace")

    def get(self, path: str) -> tuple[int, str]:
        """Return status and text of a GET.

        Raises:
            OSError: nothing listens; TimeoutError: there is no answer in time.
        """
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=_PROBE_SECONDS, context=self._context)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        finally:
            connection.close()

    def ready(self) -> bool:
        """Report whether /readyz answers 200. Raises as `get`."""
        return self.get("/readyz")[0] == http.HTTPStatus.OK
