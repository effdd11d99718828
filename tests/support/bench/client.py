"""The few requests that the benchmark sends itself: a CRD, and how soon it is served."""

import http.client
import json
import ssl
import time
from typing import Any
from urllib.parse import urlsplit

from tests.support.bench import workload


class Client:
    """A keep-alive connection as admin, and another one to the server that takes definitions."""

    def __init__(self, access: dict[str, str], definitions: dict[str, str]) -> None:
        self._connection = _connection(access)
        self._definitions = _connection(definitions)

    def get(self, path: str) -> int:
        """Send a request, read its answer to the end, and give the status code."""
        return _call(self._connection, "GET", path)

    def serve(self, crd: dict[str, Any]) -> float:
        """Create a CRD; milliseconds until the first 200 of its collection."""
        spec = crd["spec"]
        collection = f"/apis/{spec['group']}/v1/{spec['names']['plural']}"
        start = time.monotonic()
        code = _call(self._definitions, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
        if code != http.client.CREATED:
            raise RuntimeError(f"the CRD was answered with {code}")
        while self.get(collection) != http.client.OK:
            if time.monotonic() > start + 30:
                raise RuntimeError("the CRD is not served after 30 s")
        return (time.monotonic() - start) * 1000

    def settle(self, count: int) -> float:
        """Median of the times that several CRDs take to be served."""
        times = sorted(self.serve(workload.crd(f"probe{number}s", f"Probe{number}")) for number in range(count))
        return times[len(times) // 2]


def _connection(access: dict[str, str]) -> http.client.HTTPSConnection:
    context = ssl.create_default_context(cafile=access["CA"])
    context.load_cert_chain(access["Cert"], access["Key"])
    return http.client.HTTPSConnection(urlsplit(access["URL"]).netloc, timeout=60, context=context)


def _call(connection: http.client.HTTPSConnection, method: str, path: str, body: dict[str, Any] | None = None) -> int:
    connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    response.read()
    return response.status
