"""Verbs by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web

from apiext.endpoints.create import create
from apiext.endpoints.delete import delete
from apiext.endpoints.deletecollection import delete_collection
from apiext.endpoints.get import get
from apiext.endpoints.list import list_objects
from apiext.endpoints.patch import patch_object
from apiext.endpoints.scope import Scope
from apiext.endpoints.update import update
from apiext.endpoints.watch import watch

Verb = Callable[[web.BaseRequest, Scope], Awaitable[web.StreamResponse]]
"""Answers a request for a scope."""

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
