"""Clients of the host and of apiext: JSON over HTTP. Each call is one attempt; the caller decides about retries."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import orjson

from apiext.base.tls_trust import trusting_context
from apiext.base.webhook.client import WebhookClient, WebhookError
from apiext.base.webhook.clientcmd import kubeconfig, service_account
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.base.webhook.pager import Pager
from apiext.operator.options import OperatorOptions
from apiext.storage.etcd.config import EtcdConfig

Json = dict[str, Any]

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
API_SERVICES: Final = "/apis/apiregistration.k8s.io/v1/apiservices"
_MERGE_PATCH: Final = {"Content-Type": "application/merge-patch+json"}
_TIMEOUT_SECONDS: Final = 30.0
_MAX_QUOTED_BYTES: Final = 200
"""Most bytes of a response without a Status that an error message quotes."""


class ApiError(Exception):
    """A failed call: the message of the Status, and the HTTP status code (0 without a response)."""

    def __init__(self, message: str, *, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class ApiClient:
    """A client of one server. All calls raise ApiError; calls in progress fail when the endpoint is replaced."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.client = WebhookClient(endpoint, timeout=_TIMEOUT_SECONDS, backoff=())

    @property
    def url(self) -> str:
        """The URL of the server."""
        return self._endpoint.url

    async def set_endpoint(self, endpoint: Endpoint) -> None:
        """Send all further calls to another endpoint."""
        old, self._endpoint, self.client = self.client, endpoint, WebhookClient(endpoint, timeout=_TIMEOUT_SECONDS, backoff=())
        await old.close()

    async def close(self) -> None:
        """Close the connections."""
        await self.client.close()

    async def get(self, path: str) -> Json:
        """Return the object at a path. Raises ApiError."""
        return await self.call("GET", path)

    async def find(self, path: str) -> Json | None:
        """Return the object at a path, None if the server answers 404. Raises ApiError."""
        try:
            return await self.call("GET", path)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    async def items(self, path: str) -> list[Json]:
        """Return all objects of a collection. Raises ApiError."""
        items, _revision = await Pager(self._fetch).list(path)
        return items

    async def post(self, path: str, body: Any) -> Json:
        """Create an object. Raises ApiError."""
        return await self.call("POST", path, body)

    async def put(self, path: str, body: Any) -> Json:
        """Replace an object. Raises ApiError."""
        return await self.call("PUT", path, body)

    async def patch(self, path: str, body: Any) -> Json:
        """Apply a JSON merge patch; a resourceVersion in its metadata is a precondition. Raises ApiError."""
        return await self.call("PATCH", path, body, headers=_MERGE_PATCH)

    async def delete(self, path: str, body: Any = None) -> Json:
        """Delete an object, with DeleteOptions. Raises ApiError."""
        return await self.call("DELETE", path, body)

    async def request(self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        """Return the status code and the body of the response, success or not. Raises ApiError if there is no response."""
        try:
            return await self.client.ask(path, method=method, body=body, headers=headers)
        except WebhookError as error:
            raise ApiError(str(error), code=error.code) from error

    def status_error(self, method: str, path: str, code: int, data: bytes) -> ApiError:
        """Return the error for an unsuccessful response, with the message of its Status if there is one."""
        status = json_object(data)
        text = data[:_MAX_QUOTED_BYTES].decode(errors="replace").strip()
        message = status.get("message") or f"unusable response with code {code}: {text!r}"
        return ApiError(f'{method} "{self.url}{path}": {message}', code=code)

    async def _fetch(self, path: str) -> tuple[Json, int]:
        return await self.get(path), 0

    async def call(self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None) -> Json:
        """Send a request and return the object in the response. Raises ApiError."""
        code, data = await self.request(method, path, body, headers=headers)
        found = json_object(data)
        if code < 200 or code >= 300 or not found:
            raise self.status_error(method, path, code, data)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """The servers that the operator talks to."""

    host: ApiClient
    apiext: ApiClient
    host_etcd: EtcdConfig | None = None
    host_encryption: Path | None = None
    """The host's EncryptionConfiguration, for its etcd."""


def host_endpoint(options: OperatorOptions) -> Endpoint:
    """Return the endpoint of the host. Raises KubeconfigError."""
    return endpoint_of(options.kubeconfig)


def endpoint_of(file: Path | None) -> Endpoint:
    """Return the endpoint of a kubeconfig, or of the pod's service account without one. Raises KubeconfigError."""
    return kubeconfig.load(file) if file else service_account.load()


def apiext_endpoint(options: OperatorOptions, ca_bundle: str) -> Endpoint:
    """Return the endpoint of apiext, with the credentials for the host, which apiext authenticates by asking the host.

    The certificate must have the name that kube-apiserver uses for apiext, and an authority of the CA bundle (PEM).

    Raises:
        KubeconfigError: the credentials for the host cannot be read.
    """
    host = host_endpoint(options)
    return replace(host, url=options.server, context=trusting(ca_bundle, host.context), server_name=options.service.host, proxy=None)


def trusting(authority: str, context: ssl.SSLContext | None = None) -> ssl.SSLContext:
    """Return an SSL context that trusts authorities in PEM, or the system's if there are none. Extends an existing context.

    It verifies as kube-apiserver does: a trusted certificate need not be self-signed, and the common name is ignored.

    Raises:
        ssl.SSLError: the PEM text has no usable certificate.
    """
    if context is None:
        context = trusting_context(cadata=authority or None)
    elif authority:
        context.load_verify_locations(cadata=authority)
    else:
        context.load_default_certs()
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.hostname_checks_common_name = False
    return context


def json_object(data: bytes) -> Json:
    """Return the JSON object of a response, an empty one if it has none."""
    try:
        found = orjson.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
