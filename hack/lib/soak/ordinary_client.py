"""An ordinary client in a process of its own: sends a GET every 50 ms and measures the slowest."""

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Self

from hack.lib.servers.certificates import KeyPair
from hack.lib.soak.access import Access

_INTERVAL: Final = 0.05
"""Seconds between the starts of two requests."""
_PATIENCE: Final = 120.0


@dataclass
class ClientObservations:
    """The client's observations: the slowest request in milliseconds, and each answer other than 200."""

    slowest_ms: float = 0.0
    requests: int = 0
    failures: list[str] = field(default_factory=list)


class OrdinaryClient:
    """The client's process, which runs during the block. `observations` returns its observations since the last call."""

    def __init__(self, access: Access, path: str) -> None:
        self._command = [sys.executable, "-m", __name__, str(access.port), path, *map(str, (access.ca, access.pair.cert, access.pair.key))]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]
        )
        return self

    def __exit__(self, *_exc: object) -> None:
        with self._process:
            self._process.kill()

    def observations(self) -> ClientObservations:
        """Return the client's observations since the last call, including an unanswered request."""
        assert self._process.stdin
        assert self._process.stdout
        print(file=self._process.stdin, flush=True)
        return ClientObservations(**json.loads(self._process.stdout.readline()))


def main(port: str, path: str, *files: str) -> None:
    """Send requests until standard input ends. Answer each of its lines with the observations since the previous one."""
    ca, cert, key = map(Path, files)
    context = Access(int(port), ca, KeyPair(cert, key)).authenticated
    asked = threading.Event()
    threading.Thread(target=_read, args=(asked,), daemon=True).start()
    connection = http.client.HTTPSConnection("127.0.0.1", int(port), timeout=_PATIENCE, context=context)
    seen = ClientObservations()
    while True:
        start = time.monotonic()
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            response.read()
            if response.status != http.HTTPStatus.OK:
                seen.failures.append(str(response.status))
        except (OSError, http.client.HTTPException) as error:
            seen.failures.append(type(error).__name__)
            connection.close()
        elapsed = time.monotonic() - start
        seen.requests += 1
        seen.slowest_ms = max(seen.slowest_ms, elapsed * 1000)
        if asked.wait(max(0.0, _INTERVAL - elapsed)):
            asked.clear()
            print(json.dumps(asdict(seen)), flush=True)
            seen = ClientObservations()


def _read(asked: threading.Event) -> None:
    for _line in sys.stdin:
        asked.set()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
