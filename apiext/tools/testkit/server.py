"""A server for tests."""

from __future__ import annotations

import os
import secrets
import select
import subprocess
import tempfile
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from apiext.tools.replay.child_server import READY, START_SECONDS, STOP_SECONDS, kubeconfig_path, last_line, log_path, serve_command
from apiext.tools.testkit.kit_error import KitError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kubernetes.client import ApiClient
    from kubernetes.dynamic import DynamicClient

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.replay.server_client import ServerClient
    from apiext.tools.testkit.release import ReleaseReport
    from apiext.tools.testkit.webhook_place import WebhookPlace

T = TypeVar("T")

_NAMESPACES: Final = "/api/v1/namespaces"
_OUTPUT_BYTES: Final = 65_536


class Server:
    """`apiext serve` on a free port of loopback, as a context manager.

        with Server("config/crd") as server:
            subprocess.run(["kubectl", f"--kubeconfig={server.kubeconfig}", "apply", "-f", "config/samples"], check=True)

    It ends with the process that started it, however that ends. Its methods block; where a conversion webhook runs in the event loop of
    the test, call them with `asyncio.to_thread`.

    Raises:
        KitError: from `start` and all methods after it, if the server does not start, or refuses what the method does.
    """

    def __init__(self, *crds: str | Path, flags: Sequence[str] = (), folder: Path | None = None) -> None:
        """Prepare a server with the CRDs of files and folders.

        `flags` are those of `apiext serve`. `folder` gets the store, the credentials and the log, and is kept; without it, a
        temporary folder is used.
        """
        self._crds = crds
        self._flags = flags
        self._temporary = None if folder is not None else tempfile.TemporaryDirectory(prefix="apiext-testkit-")
        self.folder = folder if folder is not None else Path(self._temporary.name if self._temporary else "")
        self._process: subprocess.Popen[bytes] | None = None
        self._webhook: WebhookPlace | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    @property
    def kubeconfig(self) -> Path:
        """Return the kubeconfig of an administrator."""
        return kubeconfig_path(self.folder)

    @property
    def url(self) -> str:
        """Return the address, such as https://127.0.0.1:40123."""
        from apiext.base.webhook.clientcmd import kubeconfig

        return kubeconfig.load(self.kubeconfig).url

    @property
    def log(self) -> str:
        """Return the log since the start."""
        path = log_path(self.folder)
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def pid(self) -> int:
        """Return the process id. Raises KitError before the start."""
        if self._process is None:
            raise KitError("the server has not been started")
        return self._process.pid

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of this process with KUBECONFIG, for programs that use the server."""
        return os.environ | {"KUBECONFIG": str(self.kubeconfig)}

    @property
    def conversion_webhook(self) -> WebhookPlace:
        """Return the place for a conversion webhook. After the first use, CRDs with a webhook call it there, in place of their own one.

        Start the webhook there before objects are converted.
        """
        from apiext.tools.testkit.webhook_place import WebhookPlace

        if self._webhook is None:
            self._webhook = WebhookPlace.create(self.folder / "webhook")
        return self._webhook

    def start(self) -> Self:
        """Start the server, and load the CRDs. Return when all are served."""
        if self._process is not None:
            raise KitError("the server is running already")
        self.folder.mkdir(parents=True, exist_ok=True)
        with log_path(self.folder).open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 -- the command is this Python
                serve_command(self.folder, self._flags), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
            )
        try:
            self._wait()
            if self._crds:
                self.load(*self._crds)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop the server. A temporary folder is deleted. Do nothing if it does not run."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS)
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def load(self, *paths: str | Path) -> list[str]:
        """Create the CRDs in files and folders, or replace those with their names. Return the names once all are served."""
        from apiext.tools.testkit.definition_loading import load_definitions

        return self._run(lambda client: load_definitions(client, paths, self._redirect))

    def advance(self, *paths: str | Path, migrate: bool = False) -> ReleaseReport:
        """Go to the release of the CRDs in files and folders, or back to it. Return what was done, once all of it is served.

        Takes the steps that `apiext plan` gives. With `migrate`, also those that only a later release needs: all objects are stored in
        the new storage version, and status.storedVersions has no other one.
        """
        from apiext.base.webhook.host_addresses import parse_service_addresses
        from apiext.tools.testkit.release import ReleaseRequest, take_release

        reads_store = not _values(self._flags, "--etcd-servers")
        request = ReleaseRequest(
            paths=paths,
            migrates=migrate,
            redirect=self._redirect,
            place=str(self.folder if reads_store else self.kubeconfig),
            reads_store=reads_store,
            services=parse_service_addresses(_values(self._flags, "--service-address")),
        )
        return self._run(lambda client: take_release(client, request))

    def stored_objects(self, crd: str) -> dict[str, int]:
        """Return how many objects of a CRD are stored in each version, counted from the stored bytes."""
        from apiext.tools.testkit.release import stored_objects

        return self._run(lambda client: stored_objects(client, crd))

    def create_namespace(self, prefix: str = "test") -> str:
        """Create a namespace with a name that no other one has. Return the name."""
        name = f"{prefix}-{secrets.token_hex(4)}"
        self.request("POST", _NAMESPACES, {"metadata": {"name": name}})
        return name

    def delete_namespace(self, name: str) -> None:
        """Begin to delete a namespace with its objects."""
        self.request("DELETE", f"{_NAMESPACES}/{name}")

    def request(self, method: str, path: str, body: Any = None) -> Object:
        """Send a request as administrator. Return the JSON answer."""
        return self._run(lambda client: client.ask(method, path, body))

    def client(self) -> ApiClient:
        """Return a new client of the package `kubernetes`. The caller closes it."""
        from kubernetes.config import new_client_from_config

        client: ApiClient = new_client_from_config(str(self.kubeconfig))
        return client

    def dynamic_client(self, client: ApiClient) -> DynamicClient:
        """Return a dynamic client that uses a client."""
        from kubernetes.dynamic import DynamicClient

        # by default its cache of the API's resources is a file for each address, and addresses of tests recur
        return DynamicClient(client, cache_file=str(self.folder / f"discovery-{secrets.token_hex(4)}.json"))

    def _redirect(self, crd: Object) -> Object:
        return crd if self._webhook is None else self._webhook.redirect(crd)

    def _wait(self) -> None:
        """Wait until the server serves. Raises KitError."""
        output = self._process.stdout if self._process is not None else None
        end, seen = time.monotonic() + START_SECONDS, b""
        while output is not None and READY not in seen:
            if not select.select([output], [], [], max(0.0, end - time.monotonic()))[0]:
                break
            data = os.read(output.fileno(), _OUTPUT_BYTES)
            if not data:
                break
            seen += data
        else:
            return
        raise KitError(f"the server does not start: {last_line(log_path(self.folder))}")

    def _run(self, work: Callable[[ServerClient], Awaitable[T]]) -> T:
        """Return the result of work with a client of the server. The caller may be in an event loop."""
        from apiext.tools.testkit.blocking_client import run_with_client

        return run_with_client(self.kubeconfig, work)


def _values(flags: Sequence[str], name: str) -> list[str]:
    """Return the values of a flag, given as `--name=value` or `--name value`."""
    joined = [flag.removeprefix(f"{name}=") for flag in flags if flag.startswith(f"{name}=")]
    return joined + [value for flag, value in pairwise(flags) if flag == name]
