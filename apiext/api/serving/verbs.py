"""Tables of verbs by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web

from apiext.api.endpoints.handlers.create import create
from apiext.api.endpoints.handlers.delete import delete
from apiext.api.endpoints.handlers.delete_collection import delete_collection
from apiext.api.endpoints.handlers.get import get
from apiext.api.endpoints.handlers.list import list_objects
from apiext.api.endpoints.handlers.patch import patch_object
from apiext.api.endpoints.handlers.update import update
from apiext.api.endpoints.handlers.watch import watch
from apiext.api.endpoints.scopes.scope import Scope

Verb = Callable[[web.BaseRequest, Scope], Awaitable[web.StreamResponse]]
"""Answers a request in a scope."""

RESOURCE_VERBS: Final[Mapping[str, Verb]] = {
    "get": get,
    "list": list_objects,
    "watch": watch,
    "create": create,
    "update": update,
    "patch": patch_object,
    "delete": delete,
    "deletecollection": delete_collection,
}
SUBRESOURCE_VERBS: Final[Mapping[str, Verb]] = {"get": get, "update": update, "patch": patch_object}
