"""An etcd server of one member on the loopback address, for tests and benchmarks."""

import http.client
import signal
import ssl
from pathlib import Path
from urllib.parse import urlsplit

from tests.support import binaries
from tests.support.certificates import Authority
from tests.support.process import Process, Service, environment, free_port


class Etcd(Service):
    """Etcd with its data in a folder, on a port that stays the same when it is started again.

    With `authority` it serves TLS and asks for a client certificate of that authority (`ca`, `cert`, `key` are the
    files a client needs). Without `durable` it does not wait for the disk: fast, safe against kill -9 of etcd itself.
    """

    patience = 60.0

    def __init__(
        self,
        folder: Path,
        *,
        authority: Authority | None = None,
        durable: bool = True,
        extra_args: tuple[str, ...] = (),
    ) -> None:
        self.folder = folder
        self.port = free_port()
        scheme = "https" if authority else "http"
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self.ca: Path | None = None
        self.cert: Path | None = None
        self.key: Path | None = None
        arguments = [*self._arguments(), *([] if durable else ["--unsafe-no-fsync"]), *extra_args]
        if authority:
            pair = authority.issue("etcd")
            self.ca, self.cert, self.key = authority.cert, pair.cert, pair.key
            arguments += [
                f"--cert-file={pair.cert}",
                f"--key-file={pair.key}",
                f"--trusted-ca-file={authority.cert}",
                "--client-cert-auth",
            ]
        self.process = Process([binaries.binary("etcd"), *arguments], folder / "etcd.log", environment())

    def _arguments(self) -> list[str]:
        peer = f"http://127.0.0.1:{free_port()}"
        return [
            "--name=default",
            f"--data-dir={self.folder / 'data'}",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--log-level=warn",
        ]

    def pause(self) -> None:
        """Make it stop answering while its connections stay open."""
        self.process.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it answer again after `pause`."""
        self.process.signal(signal.SIGCONT)

    def ready(self) -> bool:
        """Whether it is healthy. Raises OSError while nothing answers."""
        host = urlsplit(self.url).netloc
        if self.ca and self.cert:
            context = ssl.create_default_context(cafile=self.ca)
            context.load_cert_chain(self.cert, self.key)
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(host, timeout=2, context=context)
        else:
            connection = http.client.HTTPConnection(host, timeout=2)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == http.HTTPStatus.OK
        except http.client.HTTPException:
            return False
        finally:
            connection.close()
