"""Serves a sample definition once, without a store, so that the first real one finds code imported, compiled and cached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from apiext.api.admission.chain import Chain
from apiext.api.endpoints.scopes.open_watches import Watches
from apiext.api.serving.builder import build_version
from apiext.api.serving.builtin.definitions import definitions_endpoint
from apiext.api.serving.info import ServingInfo
from apiext.base.meta.encoding import json_codec
from apiext.resources.conversion.none import NoneConverter
from apiext.resources.definitions.catalog import Catalog
from apiext.resources.definitions.codec import RESOURCE
from apiext.resources.definitions.controllers.naming import accepted_names
from apiext.resources.definitions.controllers.reconcile import reconcile_status
from apiext.resources.definitions.definition import Definition
from apiext.resources.definitions.definition_informer import DefinitionInformer
from apiext.resources.registry.prune_guard import PruneGuard
from apiext.resources.registry.request_context import CreateOptions, RequestContext
from apiext.storage.backends.fixed_backend import FixedBackend
from apiext.storage.direct.store import DirectStore
from apiext.storage.rendering.renderer import Renderer

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupResource
    from apiext.resources.registry.rest import ResourceRest
    from apiext.storage.interface import Item
    from apiext.storage.stored_bytes.version_counts import StoredCounts

_SCHEMA: Final[Object] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["name"],
            "x-kubernetes-validations": [{"rule": "self.minimum <= self.maximum && size(self.name) > 0", "message": "too low"}],
            "properties": {
                "name": {"type": "string", "maxLength": 63, "pattern": "^[a-z]+$"},
                "minimum": {"type": "integer", "default": 1, "minimum": 0, "maximum": 9},
                "maximum": {"type": "integer", "default": 2},
                "mode": {"type": "string", "enum": ["A", "B"], "default": "A"},
                "ports": {"type": "array", "maxItems": 3, "items": {"type": "object", "properties": {"port": {"type": "integer"}}}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}
_DEFINITION: Final[Object] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "samples.rehearsal.apiext.dev"},
    "spec": {
        "group": "rehearsal.apiext.dev",
        "scope": "Namespaced",
        "names": {"plural": "samples", "kind": "Sample", "shortNames": ["sm"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _SCHEMA},
                "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "Mode", "type": "string", "jsonPath": ".spec.mode"}],
            }
        ],
    },
}
_SAMPLE: Final[Object] = {
    "apiVersion": "rehearsal.apiext.dev/v1",
    "kind": "Sample",
    "metadata": {"name": "sample", "namespace": "default", "labels": {"a": "b"}},
    "spec": {"name": "a", "ports": [{"port": 1}], "labels": {"a": "b"}},
}


def rehearse() -> None:
    """Create the sample definition, and an object of it, as dry runs. Nothing is read, written or sent.

    Raises:
        RuntimeError: a step waits for something, which is a defect.
    """
    serving = _serve()
    try:
        serving.send(None)
    except StopIteration:
        return
    serving.close()
    raise RuntimeError("the rehearsal waits for something")


async def _serve() -> None:
    definitions = DefinitionInformer(_empty_store(RESOURCE), Catalog())
    endpoint = definitions_endpoint(definitions, PruneGuard(count=_uncounted), Chain(()), Watches())
    written = await _created(endpoint.scopes[""], "", _DEFINITION)
    group = _DEFINITION["spec"]["group"]
    established = reconcile_status(written.object(), accepted_names((), group))
    stored = definitions.codec.encode(established).data
    definition = Definition.from_item(Renderer("").item(definitions.codec, written.key, stored, 1))
    info = ServingInfo(definition)
    served = build_version(info, definition.storage_version, _empty_store(definition.resource), Chain(()), NoneConverter())
    await _created(served.scopes[""], "default", _SAMPLE)


async def _created(scope: Scope, namespace: str, template: Object) -> Item:
    obj = json_codec.loads(json_codec.dumps(template))
    scope.codec.decode_body(obj, True)  # noqa: FBT003
    await scope.fields.update({}, obj, "rehearsal")
    context = RequestContext(namespace=namespace)
    rest = cast("ResourceRest", scope.rest)
    item = await rest.create(context, obj, CreateOptions(dry_run=True))
    if scope.dialect.table is not None:
        scope.dialect.table.cacheable_row(item)
    return item


def _empty_store(resource: GroupResource) -> DirectStore:
    renderer = Renderer(f"/{resource.group}/{resource.resource}/")
    return DirectStore(backend=FixedBackend({}, revision=1), renderer=renderer, resource=resource, bookmark_interval=60)


async def _uncounted(_resource: GroupResource) -> StoredCounts:
    raise AssertionError("a create removes no version")
