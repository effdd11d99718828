"""Parses the path of a request: verb, group, version, namespace, resource, name.

Mirrors apiserver pkg/endpoints/request/requestinfo.go, pkg/endpoints/filters/requestinfo.go and pkg/server/filters/longrunning.go.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote_to_bytes

from aiohttp import web

from apiext.api.endpoints.own_paths import VERSION_MAP_EVENTS
from apiext.api.endpoints.parameters.query_parameters import flag, parse_query, text
from apiext.api.endpoints.request import INFO, Handler
from apiext.api.endpoints.responsewriters.status import internal_error_reply
from apiext.api.filters.before_request import FilterStep, StepResult
from apiext.base.meta.encoding import utf8
from apiext.base.meta.host_annotations import IMPORT_PATH
from apiext.base.meta.names import path_segment
from apiext.base.meta.request import RequestInfo
from apiext.base.meta.selector_parser import field_selector_steps
from apiext.base.meta.steps import Steps, at_once
from apiext.base.scheduling.time_slice import in_slices

_PREFIXES: Final = frozenset({"api", "apis"})
_SPECIAL_VERBS: Final = frozenset({"proxy", "watch"})
_NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})
_LONG_RUNNING_VERBS: Final = frozenset({"watch", "proxy"})
_LONG_RUNNING_SUBRESOURCES: Final = frozenset({"attach", "exec", "proxy", "log", "portforward"})
_SELECTING: Final = frozenset({"list", "watch", "deletecollection"})
_VERBS: Final = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}


class RequestInfoError(Exception):
    """A special verb of the path lacks its resource."""


WITHOUT_QUERY: Final = frozenset({"POST", "PUT", "PATCH"})
"""Methods for which RequestInfo ignores the query."""
CACHED_PATHS: Final = 4096
"""Paths without a query that are cached."""
CACHED_QUERIES: Final = 1024
"""Paths with a query that are cached."""
_MAX_CACHED_PATH: Final = 256
"""Characters."""
_LONG_PATH: Final = 4096
"""Characters of path and query; longer queries are parsed in time slices."""


class WithRequestInfo(FilterStep):
    """Attaches the RequestInfo. Requests for the same path share it if the query is the same or does not affect it."""

    def __init__(self, handler: Handler) -> None:
        super().__init__(handler)
        self._cache: dict[tuple[str, str], RequestInfo] = {}
        self._with_query: dict[tuple[str, str], RequestInfo] = {}

    def enter(self, request: web.BaseRequest) -> StepResult:
        """Attach the RequestInfo; return 500 if the path has none. Waits only for a path with a long query."""
        method, path = request.method, request.raw_path
        if method in WITHOUT_QUERY:
            path = path.partition("?")[0]
        key = (method, path)
        cache, most = (self._with_query, CACHED_QUERIES) if "?" in path else (self._cache, CACHED_PATHS)
        info = cache.get(key)
        if info is None:
            if len(request.raw_path) > _LONG_PATH:
                return self._enter_in_slices(request)
            try:
                info = request_info(request)
            except RequestInfoError as error:
                return _failure(request, error)
            if len(path) <= _MAX_CACHED_PATH:
                if len(cache) >= most:
                    cache.clear()
                cache[key] = info
        request[INFO] = info
        return None

    async def _enter_in_slices(self, request: web.BaseRequest) -> web.StreamResponse | None:
        try:
            request[INFO] = await in_slices(_request_info_steps(request))
        except RequestInfoError as error:
            return _failure(request, error)
        return None


def _failure(request: web.BaseRequest, error: RequestInfoError) -> web.StreamResponse:
    return internal_error_reply(request, f"failed to create RequestInfo: {error}")


def request_info(request: web.BaseRequest) -> RequestInfo:
    """Return the RequestInfo of a request.

    Raises:
        RequestInfoError: a special verb of the path lacks its resource.
    """
    return at_once(_request_info_steps(request))


def _request_info_steps(request: web.BaseRequest) -> Steps[RequestInfo]:
    method, path = request.method, _path(request)
    info = RequestInfo(path=path, verb=method.lower())
    parts = path.strip("/").split("/")
    if len(parts) < 3 or parts[0] not in _PREFIXES:
        info.long_running = is_long_running(info)
        return info
    info.api_prefix = parts[0]
    if parts[0] == "api":
        del parts[0]
    elif len(parts) < 4:
        return info
    else:
        info.group = parts[1]
        del parts[:2]
    info.is_resource = True
    info.version = parts[0]
    special = parts[1] in _SPECIAL_VERBS
    if special:
        if len(parts) < 3:
            raise RequestInfoError(f"unable to determine kind and namespace from url, {request.rel_url}")
        info.verb = parts[1]
        del parts[:2]
    else:
        info.verb = _VERBS.get(method, "")
        del parts[0]
    _name_resource(info, parts)
    yield from _refine_verb(info, request, special=special)
    info.long_running = is_long_running(info)
    return info


def _path(request: web.BaseRequest) -> str:
    """Return the unescaped path; U+FFFD replaces each byte that is not UTF-8."""
    path = request.path
    if path.isascii() and "%" not in path:
        return path
    raw = unquote_to_bytes(request.rel_url.raw_path.encode(errors="surrogateescape"))
    return utf8.replaced(raw.decode(errors="surrogateescape"))


def _name_resource(info: RequestInfo, parts: list[str]) -> None:
    """Set namespace, resource, name and subresource from the parts after the version."""
    if parts[0] == "namespaces" and len(parts) > 1:
        info.namespace = parts[1]
        # a resource follows the name of the namespace, or a subresource of the namespace itself
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            del parts[:2]
    info.parts = tuple(parts)
    info.resource = parts[0]
    if len(parts) > 1:
        info.name = parts[1]
        if len(parts) > 2 and info.verb != "proxy":
            info.subresource = parts[2]


def _refine_verb(info: RequestInfo, request: web.BaseRequest, *, special: bool) -> Steps[None]:
    """Change get to list or watch, and delete to deletecollection, for requests without a name."""
    if not info.name:
        if info.verb == "get":
            info.verb = "watch" if _asks_for_watch(request) else "list"
            info.name = yield from _selected_name(request)
        elif info.verb == "delete":
            info.verb = "deletecollection"
    if not special and info.verb in _SELECTING and request.rel_url.raw_query_string:
        asked = parse_query(request)
        info.field_selector, info.label_selector = text(asked, "fieldSelector"), text(asked, "labelSelector")


def _asks_for_watch(request: web.BaseRequest) -> bool:
    if "watch" not in request.rel_url.raw_query_string:
        return False
    return flag(parse_query(request), "watch") is True


def _selected_name(request: web.BaseRequest) -> Steps[str]:
    """Return the name that a field selector requires: the reference takes it for the request's name."""
    if "fieldSelector" not in request.rel_url.raw_query_string:
        return ""
    selector = text(parse_query(request), "fieldSelector")
    if "metadata.name" not in selector:
        return ""
    try:
        name = (yield from field_selector_steps(selector)).requires_exact("metadata.name")
    except ValueError:
        return ""
    return name if name and not path_segment(name) else ""


def is_long_running(info: RequestInfo) -> bool:
    """Return whether the request is exempt from timeouts and from limits of concurrent requests."""
    if not info.is_resource:
        return info.verb in _LONG_RUNNING_VERBS or info.path.startswith(IMPORT_PATH) or info.path == VERSION_MAP_EVENTS
    return info.verb in _LONG_RUNNING_VERBS or info.subresource in _LONG_RUNNING_SUBRESOURCES
