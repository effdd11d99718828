"""Server-side apply of one object (applyPatcher of apiserver pkg/endpoints/handlers/patch.go)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apiext.api.endpoints.handlers.body import YAML_PREFIX
from apiext.api.endpoints.handlers.owner_references import dedup_owner_references
from apiext.api.endpoints.parameters.options import IGNORE, WARN
from apiext.api.endpoints.scopes.context import Admitter, check_name, match_namespace
from apiext.api.endpoints.scopes.dialect import CBOR_APPLY_PATCH
from apiext.api.endpoints.serializers.apply_configuration import FROM_YAML, parse_cbor_configuration, parse_configuration
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.request import AdmissionOperation

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.endpoints.scopes.write_call import WriteCall
    from apiext.base.meta.encoding.json_codec import Object


@dataclass(slots=True, eq=False)
class Applier:
    """The updater of an apply. It parses the configuration on its first call."""

    _scope: Scope
    _call: WriteCall
    _admitter: Admitter
    _parsed: tuple[Object, list[str]] | None = None

    def record_body(self) -> None:
        """Add the configuration to the audit event; the reference parses it before it reads the object.

        Raises:
            HeavyWorkError: the YAML is too large for the event loop.
        """
        record = self._call.record
        if record is not None and record.with_body:
            # __call__ raises it again
            with suppress(errors.StatusError):
                record.take_body(json_codec.dumps(self._parse()[0], sort_keys=False))

    def _parse(self) -> tuple[Object, list[str]]:
        """Return the configuration, and messages about its duplicate keys. Raises StatusError (400)."""
        if self._parsed is None:
            data = self._call.data
            is_cbor = self._call.media_type == CBOR_APPLY_PATCH
            self._parsed = (parse_cbor_configuration(data), []) if is_cbor else parse_configuration(data)
        return self._parsed

    async def __call__(self, existing: Object) -> Object:
        """Return the existing object with the configuration merged into it, or a new one, after admission.

        Raises:
            StatusError: the configuration is invalid or in conflict with other managers, or admission rejected the result.
        """
        scope, call = self._scope, self._call
        exists = bool((existing.get("metadata") or {}).get("uid"))
        configuration, duplicates = self._parse()
        obj = await scope.fields.apply(existing, configuration, call.manager, force=call.query.force)
        self._report(duplicates)
        if not exists and obj["metadata"].get("uid"):
            why = f"uid mismatch: the provided object specified uid {obj['metadata']['uid']}, and no existing object was found"
            raise errors.conflict(scope.resource.group_resource, call.name, why)
        match_namespace(scope, obj, call.namespace)
        check_name(obj, call.name)
        operation = AdmissionOperation.UPDATE if exists else AdmissionOperation.CREATE
        obj = await self._admitter.mutate(operation, obj, existing if exists else None)
        dedup_owner_references(obj, call.warnings, after_admission=True)
        return obj

    def _report(self, duplicates: list[str]) -> None:
        """Report duplicate keys as the field validation demands. Raise StatusError (400) if it is Strict."""
        validation = self._call.query.field_validation
        if not duplicates or validation == IGNORE:
            return
        if validation == WARN:
            self._call.warnings.extend(message.strip() for message in duplicates)
            return
        raise errors.bad_request(f"error strict decoding patch: {FROM_YAML}{YAML_PREFIX}" + "\n".join(duplicates))
