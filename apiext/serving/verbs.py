"""Tables of verbs by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web

from apiext.endpoints.handlers.create import create
from apiext.endpoints.handlers.delete import delete
from apiext.endpoints.handlers.delete_collection import delete_collection
from apiext.endpoints.handlers.get import get
from apiext.endpoints.handlers.list import list_objects
from apiext.endpoints.handlers.patch import patch_object
from apiext.endpoints.handlers.update import update
from apiext.endpoints.handlers.watch import watch
from apiext.endpoints.scopes.scope import Scope

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
