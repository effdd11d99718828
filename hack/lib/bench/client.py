"""The few requests that the benchmark sends itself: a CRD, and how soon it is served."""

import http.client
import json
import ssl
import time
from typing import Any
from urllib.parse import urlsplit

from hack.lib.bench import workload


class Client:
    """One keep-alive connection as admin."""

    def __init__(self, access: dict[str, str]) -> None:
        context = ssl.create_default_context(cafile=access["CA"])
        context.load_cert_chain(access["Cert"], access["Key"])
        self._connection = http.client.HTTPSConnection(urlsplit(access["URL"]).netloc, timeout=60, context=context)

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> int:
        """Send a request, read its answer to the end, and give the status code."""
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        response.read()
        return response.status

    def serve(self, crd: dict[str, Any]) -> float:
        """Create a CRD; milliseconds until the first 200 of its collection."""
        spec = crd["spec"]
        collection = f"/apis/{spec['group']}/v1/{spec['names']['plural']}"
        start = time.monotonic()
        code = self.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
        if code != http.client.CREATED:
            raise RuntimeError(f"the CRD was answered with {code}")
        while self.call("GET", collection) != http.client.OK:
            if time.monotonic() > start + 30:
                raise RuntimeError("the CRD is not served after 30 s")
        return (time.monotonic() - start) * 1000

    def let_in(self, sample: dict[str, Any]) -> None:
        """Wait until objects can be created."""
        start = time.monotonic()
        while self.call("POST", f"{workload.COLLECTION}?dryRun=All", sample) != http.client.CREATED:
            if time.monotonic() > start + 60:
                raise RuntimeError("objects cannot be created after 60 s")
            time.sleep(0.05)

    def settle(self, count: int) -> float:
        """Median of the times that several CRDs take to be served."""
        times = sorted(self.serve(workload.crd(f"probe{number}s", f"Probe{number}")) for number in range(count))
        return times[len(times) // 2]
