"""The status of the Conversions that a server stores. Its controller starts with the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.api.endpoints.handlers.write import perform_own
from apiext.api.endpoints.scopes.write_call import SERVER_MASTER, WriteCall
from apiext.api.serving.stored_conversions import stored_scopes
from apiext.base.meta import errors
from apiext.resources.conversion.known import Origin
from apiext.resources.conversion.rules.model import DEFINITION
from apiext.resources.registry.request_context import UpdateOptions
from apiext.storage.backend import BackendError
from apiext.storage.errors import StorageError

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.serving.cache import ServingCache
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.rules.reporting.status import RulesUsage
    from apiext.resources.conversion.rules.reporting.status_controller import ConversionStatusController
    from apiext.resources.definitions.catalog import Catalog
    from apiext.resources.definitions.definition import Definition

_MANAGER: Final = "apiext-conversion-status"


class StoredStatuses:
    """Keeps the statuses of stored Conversions. Implements StatusBackend for their controller."""

    retryable: Final = (errors.StatusError, StorageError, BackendError)

    def __init__(self, catalog: Catalog, cache: ServingCache) -> None:
        self._catalog = catalog
        self._cache = cache
        self._known = known = cache.converters.known
        self._made: ConversionStatusController | None = None
        catalog.subscribe(self._on_change)
        known.subscribe(self._on_rules_change)

    def put(self, conversion: Object) -> None:
        """Take a new state of a Conversion."""
        if self._made is None:
            # imported with the first Conversion
            from apiext.resources.conversion.rules.reporting.status_controller import ConversionStatusController

            self._made = ConversionStatusController(self)
        self._made.put(conversion)

    def remove(self, name: str) -> None:
        """Forget a deleted Conversion."""
        if self._made is not None:
            self._made.remove(name)

    async def close(self) -> None:
        """Stop the controller."""
        if self._made is not None:
            await self._made.close()

    def _on_change(self, old: Definition | None, new: Definition | None) -> None:
        changed = new or old
        if self._made is not None and changed is not None and (old is None or new is None or old.object["spec"] != new.object["spec"]):
            self._made.definition_changed(changed.name)

    def _on_rules_change(self, name: str | None) -> None:
        if self._made is not None and name is not None:
            self._made.definition_changed(name)

    # --- StatusBackend ----------------------------------------------------------------------------------------------------

    async def definition(self, name: str) -> Object | None:
        """Implement StatusBackend.definition."""
        found = self._catalog.get(name)
        return None if found is None else found.object

    async def write_status(self, name: str, status: Object) -> None:
        """Implement StatusBackend.write_status."""
        definition = self._catalog.get(DEFINITION)
        scope = None if definition is None else stored_scopes(self._cache, definition).get("status")
        if scope is None:
            return
        call = WriteCall(SERVER_MASTER, namespace="", subresource="status", name=name, query=status)
        try:
            await perform_own(self._cache.workers, scope, _write, call)
        except errors.StatusError as error:
            if error.code != 404:
                raise

    def usage(self, name: str) -> RulesUsage:
        """Implement StatusBackend.usage."""
        from apiext.resources.conversion.rules.reporting.status import RulesUsage

        known = self._known.of(name)
        if known is not None and known.origin is Origin.FILE:
            return RulesUsage(is_used=False, reason="ReplacedByFile", message="A file of the server replaces this object.")
        message = "The server converts the objects of the CRD by these rules."
        continues = known is not None and self._known.is_in_use(known)
        return RulesUsage(is_used=True, reason="Served", message=message, continues=continues)


async def _write(scope: Scope, call: WriteCall) -> None:
    """Write the status of a call; runs in the event loop or in a worker process."""
    status = call.query

    async def updated(existing: Object) -> Object:
        changed = {**existing, "status": status}
        await scope.fields.update(existing, changed, _MANAGER)
        return changed

    await scope.rest.update(call.context, call.name, updated, UpdateOptions())
