"""Handler of resource requests: finds the scope and the verb of a request.

Mirrors apiextensions-apiserver pkg/apiserver/customresource_handler.go (ServeHTTP, serveResource, serveStatus, serveScale).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from aiohttp import web

from apiext.api.endpoints.handlers.watch import watch
from apiext.api.endpoints.request import INFO, WARNINGS, WORKERS, audit_of
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.api.serving.verbs import RESOURCE_VERBS, SUBRESOURCE_VERBS, Verb
from apiext.base.meta import errors
from apiext.base.meta.gvk import GroupResource
from apiext.storage.watch_events import FAILURES

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.serving.builtin.endpoints import BuiltinEndpoints
    from apiext.api.serving.cache import ServingCache
    from apiext.api.serving.info import ServingInfo, ServingVersion
    from apiext.base.meta.request import RequestInfo
    from apiext.base.workers.pool import WorkerPool
    from apiext.resources.definitions.catalog import Catalog

RefreshDefinition = Callable[[str], Awaitable[None]]
"""Reads a definition by its name."""
_ACROSS_NAMESPACES: Final = frozenset({"list", "watch"})


class ResourceHandler:
    """Answers requests for custom and built-in resources."""

    def __init__(
        self,
        catalog: Catalog,
        cache: ServingCache,
        builtins: BuiltinEndpoints,
        workers: WorkerPool,
        refresh: RefreshDefinition | None = None,
    ) -> None:
        """Create the handler. With `refresh`, a definition is read from the store before a request for it is answered 404."""
        self._refresh = refresh
        self._catalog = catalog
        self._cache = cache
        self._builtins = builtins
        self._workers = workers

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request; 404 in plain text if the resource is not served.

        Raises:
            StatusError: the subresource is unknown (404), the verb is not supported (405), or the verb fails.
        """
        request[WORKERS] = self._workers
        info = request[INFO]
        if self._builtins.serves(info):
            return await self._builtins.answer(request)
        serving, served = self._served(info)
        if served is None and self._refresh is not None and info.api_prefix == "apis":
            with suppress(*FAILURES):
                await self._refresh(f"{info.resource}.{info.group}")
                serving, served = self._served(info)
        if serving is None or served is None:
            return text_reply("404 page not found", status=404)
        if served.notices:
            request[WARNINGS].extend(served.warnings(info))
        if served.deprecated or served.codec.conversion is not None:
            _note(request, served)
        scope, verb = _endpoint(info, served)
        scope = serving.scope_for(info.verb, scope)
        if verb is watch:
            return await watch(request, scope)
        serving.enter()
        try:
            return await verb(request, scope)
        finally:
            serving.leave()

    def _served(self, info: RequestInfo) -> tuple[ServingInfo | None, ServingVersion | None]:
        serving = self._serving(info)
        return serving, self._cache.version(serving, info.version) if serving is not None else None

    def _serving(self, info: RequestInfo) -> ServingInfo | None:
        """Return the serving info for a request, None if the resource, its scope or its version is not served."""
        if info.api_prefix != "apis":
            return None
        definition = self._catalog.lookup(info.group, info.resource)
        if definition is None:
            return None
        if info.namespace and not definition.namespaced:
            return None
        if definition.namespaced and not info.namespace and info.verb not in _ACROSS_NAMESPACES:
            return None
        version = definition.version(info.version)
        if version is None or not version.served:
            return None
        return self._cache.info(definition)


def _note(request: web.BaseRequest, served: ServingVersion) -> None:
    """Note in the audit event that the version is deprecated, and that the request may wait for a conversion besides the store."""
    audit = audit_of(request)
    if audit is None:
        return
    if served.deprecated:
        audit.note_deprecation()
    if served.codec.conversion is not None:
        audit.measure_store()


def _endpoint(info: RequestInfo, served: ServingVersion) -> tuple[Scope, Verb]:
    """Return scope and verb of a request.

    Raises:
        StatusError: the subresource is unknown (404), or the verb is not supported (405).
    """
    scope = served.scopes.get(info.subresource)
    if scope is None:
        raise errors.not_found(GroupResource(info.group, info.resource), info.name)
    verb = (SUBRESOURCE_VERBS if info.subresource else RESOURCE_VERBS).get(info.verb)
    if verb is None:
        raise errors.method_not_supported(GroupResource(info.group, info.resource), info.verb)
    return scope, verb
