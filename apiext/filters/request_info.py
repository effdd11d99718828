"""Takes the path of a request apart: verb, group, version, namespace, resource, name.

Mirrors apiserver pkg/endpoints/request/requestinfo.go and pkg/endpoints/filters/requestinfo.go.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote_to_bytes

from aiohttp import web

from apiext.authorization.forbidden import sanitized
from apiext.endpoints.handlers.query_parameters import flag, parse_query, text
from apiext.endpoints.request import INFO, Handler
from apiext.endpoints.responsewriters.status import text_reply
from apiext.filters.long_running import is_long_running
from apiext.filters.step import Step
from apiext.meta import go_format
from apiext.meta.names import path_segment
from apiext.meta.request import RequestInfo
from apiext.meta.selectors import parse_field_selector

_PREFIXES: Final = frozenset({"api", "apis"})
_SPECIAL_VERBS: Final = frozenset({"proxy", "watch"})
_NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})
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
    """The path names no resource although it has to."""


_NO_BYTES: Final = re.compile(r"[\ud800-\udfff]")
"""What stands for bytes that are not UTF-8."""
_CACHED_PATHS: Final = 4096
_LONGEST: Final = 256


class WithRequestInfo(Step):
    """Attaches the RequestInfo; requests for the same path without a query share one."""

    def __init__(self, handler: Handler) -> None:
        super().__init__(handler)
        self._known: dict[tuple[str, str], RequestInfo] = {}

    def enter(self, request: web.BaseRequest) -> web.StreamResponse | None:
        """Attach the RequestInfo; answer 500 where there can be none."""
        key = (request.method, request.raw_path)
        info = self._known.get(key)
        if info is None:
            try:
                info = request_info(request)
            except RequestInfoError as error:
                uri = go_format.quote(str(request.rel_url))
                return text_reply(sanitized(f"Internal Server Error: {uri}: failed to create RequestInfo: {error}"), status=500)
            self._keep(key, info)
        request[INFO] = info
        return None

    def _keep(self, key: tuple[str, str], info: RequestInfo) -> None:
        path = key[1]
        if len(path) <= _LONGEST and "?" not in path:
            if len(self._known) >= _CACHED_PATHS:
                self._known.clear()
            self._known[key] = info


def request_info(request: web.BaseRequest) -> RequestInfo:
    """What a request is about.

    Raises:
        RequestInfoError: a special verb stands in the path without a resource.
    """
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
    _refine_verb(info, request, special=special)
    info.long_running = is_long_running(info)
    return info


def _path(request: web.BaseRequest) -> str:
    """The path without escapes; bytes that are no text are told as such, each by itself."""
    path = request.path
    if path.isascii() and "%" not in path:
        return path
    raw = unquote_to_bytes(request.rel_url.raw_path.encode(errors="surrogateescape"))
    return _NO_BYTES.sub("\ufffd", raw.decode(errors="surrogateescape"))


def _name_resource(info: RequestInfo, parts: list[str]) -> None:
    """Namespace, resource, name and subresource from the parts after the version."""
    if parts[0] == "namespaces" and len(parts) > 1:
        info.namespace = parts[1]
        # what follows the name of a namespace is a resource in it, but for the subresources of namespaces themselves
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            del parts[:2]
    info.parts = tuple(parts)
    info.resource = parts[0]
    if len(parts) > 1:
        info.name = parts[1]
        if len(parts) > 2 and info.verb != "proxy":
            info.subresource = parts[2]


def _refine_verb(info: RequestInfo, request: web.BaseRequest, *, special: bool) -> None:
    """List, watch and deletecollection are what get and delete mean without a name."""
    if not info.name:
        if info.verb == "get":
            info.verb = "watch" if _asks_for_watch(request) else "list"
            info.name = _selected_name(request)
        elif info.verb == "delete":
            info.verb = "deletecollection"
    if not special and info.verb in _SELECTING and request.rel_url.raw_query_string:
        asked = parse_query(request)
        info.field_selector, info.label_selector = text(asked, "fieldSelector"), text(asked, "labelSelector")


def _asks_for_watch(request: web.BaseRequest) -> bool:
    if "watch" not in request.rel_url.raw_query_string:
        return False
    return flag(parse_query(request), "watch") is True


def _selected_name(request: web.BaseRequest) -> str:
    """The name that a field selector asks for, so that it counts as the request's."""
    if "fieldSelector" not in request.rel_url.raw_query_string:
        return ""
    selector = text(parse_query(request), "fieldSelector")
    if "metadata.name" not in selector:
        return ""
    try:
        name = parse_field_selector(selector).requires_exact("metadata.name")
    except ValueError:
        return ""
    return name if name and not path_segment(name) else ""
