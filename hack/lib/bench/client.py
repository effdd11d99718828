"""The benchmark's own requests: CRDs, and timed GETs."""

import http.client
import json
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hack.lib.bench import workload
from hack.lib.servers.tls_connection import client_context


class Client:
    """A user with one keep-alive connection."""

    def __init__(self, access: dict[str, str]) -> None:
        self._access = access
        context = client_context(*(Path(access[name]) for name in ("CA", "Cert", "Key")))
        self._connection = http.client.HTTPSConnection(urlsplit(access["URL"]).netloc, timeout=60, context=context)

    def call(self, method: str, path: str, body: dict[str, Any] | bytes | None = None, media_type: str = "application/json") -> int:
        """Send a request, read the response to the end, and return the status code."""
        data = json.dumps(body) if isinstance(body, dict) else body
        self._connection.request(method, path, data, {"Content-Type": media_type})
        response = self._connection.getresponse()
        response.read()
        return response.status

    def merge(self, path: str, patch: dict[str, Any]) -> int:
        """Send a merge patch, and return as `call`."""
        return self.call("PATCH", path, patch, "application/merge-patch+json")

    def read(self, path: str) -> Any:
        """Return the object at a path.

        Raises:
            RuntimeError: the server does not return it.
        """
        self._connection.request("GET", path)
        response = self._connection.getresponse()
        data = response.read()
        if response.status != http.client.OK:
            raise RuntimeError(f"GET {path}: {response.status}")
        return json.loads(data)

    def serve(self, crd: dict[str, Any]) -> float:
        """Create a CRD and return the milliseconds until the first 200 of its collection.

        Raises:
            RuntimeError: The server refuses the CRD, or does not serve it after 30 s.
        """
        spec = crd["spec"]
        collection = f"/apis/{spec['group']}/v1/{spec['names']['plural']}"
        start = time.monotonic()
        code = self.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
        if code != http.client.CREATED:
            raise RuntimeError(f"creating the CRD failed with {code}")
        while self.call("GET", collection) != http.client.OK:
            if time.monotonic() > start + 30:
                raise RuntimeError("the CRD is not served after 30 s")
        return (time.monotonic() - start) * 1000

    def wait_until_writable(self, crd: dict[str, Any]) -> None:
        """Wait until objects without a spec can be created: apiext behind kube-apiserver first takes over the definition.

        Raises:
            RuntimeError: Creating one still fails after 60 s.
        """
        names = crd["spec"]["names"]
        path = f"{workload.collection(names['plural'])}?dryRun=All"
        sample = {"apiVersion": f"{workload.GROUP}/v1", "kind": names["kind"], "metadata": {"name": "sample"}}
        start = time.monotonic()
        while self.call("POST", path, sample) != http.client.CREATED:
            if time.monotonic() > start + 60:
                raise RuntimeError("objects cannot be created after 60 s")
            time.sleep(0.05)

    def median_serving_time(self, count: int) -> float:
        """Create several CRDs; return the median of the milliseconds until each is served."""
        times = sorted(self.serve(workload.crd(f"probe{number}s", f"Probe{number}")) for number in range(count))
        return times[len(times) // 2]

    def longest_get_beside(self, body: bytes) -> float:
        """Return the milliseconds of the slowest GET while the server processes a dry-run POST of a large YAML body."""
        other = Client(self._access)
        flood = threading.Thread(target=other.send_yaml, args=(f"{workload.COLLECTION}?dryRun=All", body))
        flood.start()
        longest = 0.0
        while flood.is_alive():
            start = time.monotonic()
            self.call("GET", workload.COLLECTION)
            longest = max(longest, time.monotonic() - start)
        flood.join()
        return longest * 1000

    def send_yaml(self, path: str, body: bytes) -> None:
        """Send a POST with a YAML body and read the response to the end."""
        self._connection.request("POST", path, body, {"Content-Type": "application/yaml"})
        self._connection.getresponse().read()
