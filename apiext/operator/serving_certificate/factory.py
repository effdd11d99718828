"""The serving Secret of a Service on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from apiext.operator.serving_certificate.secret import ServingSecret
from apiext.webhook.reflector import Reflector, only

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.operator.api_clients import Api


def open_serving_secret(
    host: Api, *, secret: tuple[str, str], service: tuple[str, str], server: str = "", manage: bool = True
) -> ServingSecret:
    """The Secret with the certificate of a Service, each as namespace and name. `server` is a URL by which it is reached besides."""
    namespace, name = secret
    hosts = [*hosts_of(*service), urlsplit(server).hostname or ""]

    async def watch(changed: Callable[[], None]) -> None:
        await Reflector(host.client, only(f"/api/v1/namespaces/{namespace}/secrets", name), _Anything(changed)).run()

    return ServingSecret(host, watch, namespace=namespace, name=name, hosts=list(dict.fromkeys(filter(None, hosts))), manage=manage)


def hosts_of(namespace: str, service: str) -> list[str]:
    """The names of a Service, first the one by which kube-apiserver knows it."""
    name = f"{service}.{namespace}"
    return [f"{name}.svc", f"{name}.svc.cluster.local", name, service]


class _Anything:
    """Tells that something has happened."""

    def __init__(self, happened: Callable[[], None]) -> None:
        self._happened = happened

    def replaced(self, objects: Sequence[dict[str, Any]]) -> None:
        self._happened()

    def changed(self, found: dict[str, Any]) -> None:
        self._happened()

    def deleted(self, found: dict[str, Any]) -> None:
        self._happened()
