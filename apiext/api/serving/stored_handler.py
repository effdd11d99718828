"""Handler of `/stored/`: GET returns the documents of `api/serving/stored_documents.py`.

PUT and DELETE repair an unreadable object (`api/serving/stored_repairs.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import hdrs, web

from apiext.api.endpoints.request import USER
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.api.serving.stored_documents import StoredDocuments, StoredQuestion
from apiext.api.serving.stored_repairs import StoredRepairs
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.resources.registry.errors import StorageFailure, interpret

if TYPE_CHECKING:
    from apiext.api.serving.cache import ServingCache
    from apiext.api.serving.stored_documents import RollCall
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.workers.pool import WorkerPool
    from apiext.resources.definitions.catalog import Catalog


class StoredHandler:
    """Answers requests for the paths below `/stored/`."""

    def __init__(self, catalog: Catalog, cache: ServingCache, workers: WorkerPool, servers: RollCall | None = None) -> None:
        self._documents = StoredDocuments(catalog, cache, workers, servers)
        self._repairs = StoredRepairs(cache)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request.

        Raises:
            StatusError: the definition or object does not exist (404), another method (405), or the store cannot be used.
        """
        path = request.path.split("/")[2:]
        if not path or "" in path:
            return text_reply("404 page not found", status=404)
        return Reply(_parts(await self._document(request, path)))

    async def _document(self, request: web.BaseRequest, path: list[str]) -> Object:
        if request.method == hdrs.METH_GET:
            return await self._documents.get(path, StoredQuestion(request.query, request[USER].name))
        if path[0] == "objects" and path[2:] and request.method in (hdrs.METH_PUT, hdrs.METH_DELETE):
            definition, key = self._documents.object_at(path)
            repair = self._repairs.replace if request.method == hdrs.METH_PUT else self._repairs.delete
            try:
                return await repair(definition, key, request)
            except StorageFailure as error:
                raise interpret(error, resource=definition.resource, operation="repair", name=key) from error
        raise errors.StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def _parts(document: Object) -> list[bytes]:
    """Return a document as JSON. Insert the objects' bytes unchanged: base64 needs no escapes."""
    data = document.pop("data", "")
    text = json_codec.dumps(document, sort_keys=False)
    return [text[:-1], b',"data":"', data.encode("ascii"), b'"}\n'] if data else [text, b"\n"]
