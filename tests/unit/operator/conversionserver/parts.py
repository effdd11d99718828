"""Builders of what the conversion webhook reads, and converters without rules."""

import base64
import json
from typing import Any, Final

from apiext.base.scheduling.inline_work import HeavyWorkError, current_work
from apiext.operator.conversionserver.cluster_objects import (
    STRATEGY,
    ClusterDefinitions,
    ClusterObjects,
    conversion_summary,
    crd_summary,
    xrd_summary,
)
from apiext.operator.conversionserver.conversions import Compile, Conversions, MadeConverter
from apiext.operator.conversionserver.webhook_target import WebhookTarget
from apiext.operator.names import NamespacedName
from apiext.resources.conversion.interface import ConversionError

Json = dict[str, Any]
GROUP: Final = "example.com"
NAME: Final = f"widgets.{GROUP}"
CLAIM: Final = f"gadgets.{GROUP}"
TARGET: Final = WebhookTarget(service=NamespacedName("apiext-system", "apiext-conversions"))
NOBODY: Final = NamespacedName("", "")


class Renaming:
    """Implements ObjectConverter: notes the former version, and refuses objects whose spec says so, heavy ones on the event loop."""

    def __init__(self, mark: str = "was") -> None:
        self.mark = mark

    def convert_inline(self, obj: Json, api_version: str) -> Json:
        """Convert one object."""
        if obj.get("spec") == "heavy" and current_work().is_limited:
            raise HeavyWorkError
        if obj.get("spec") == "stuck":
            raise ConversionError("the spec is stuck")
        return {**obj, "apiVersion": api_version, self.mark: obj["apiVersion"]}


def crd(wish: str | None = None, *, conversion: Json | None = None, generation: int = 1, uid: str = "crd-uid", name: str = NAME) -> Json:
    """Return a CRD of the cluster with two versions."""
    plural, _, group = name.partition(".")
    kind = plural.removesuffix("s").capitalize()
    annotations = {} if wish is None else {STRATEGY: wish}
    metadata = {"name": name, "uid": uid, "generation": generation, "resourceVersion": "1", "annotations": annotations}
    versions = [{"name": version, "served": True, "storage": version == "v1"} for version in ("v1", "v2")]
    spec = {"group": group, "names": {"plural": plural, "kind": kind}, "versions": versions}
    return {"metadata": metadata, "spec": {**spec, "conversion": conversion or {"strategy": "None"}}}


def owned(found: Json) -> Json:
    """Return a CRD as one that Crossplane makes of the XRD of the same name as NAME."""
    owner = {"apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition", "name": NAME, "controller": True}
    return {**found, "metadata": {**found["metadata"], "ownerReferences": [owner]}}


def xrd(wish: str | None = None, *, conversion: Json | None = None) -> Json:
    """Return the XRD of NAME and CLAIM."""
    annotations = {} if wish is None else {STRATEGY: wish}
    metadata = {"name": NAME, "uid": "xrd-uid", "generation": 1, "resourceVersion": "1", "annotations": annotations}
    names = {"plural": "widgets", "kind": "Widget"}
    spec: Json = {"group": GROUP, "names": names, "claimNames": {"plural": "gadgets", "kind": "Gadget"}, "versions": []}
    if conversion is not None:
        spec["conversion"] = conversion
    return {"apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition", "metadata": metadata, "spec": spec}


def conversion(generation: int = 1, *, uid: str = "conversion-uid", name: str = NAME) -> Json:
    """Return the Conversion object of a CRD."""
    metadata = {"name": name, "uid": uid, "generation": generation, "resourceVersion": "1"}
    return {"apiVersion": "conversions.apiext.dev/v1alpha1", "kind": "Conversion", "metadata": metadata, "spec": {"hub": "v2"}}


def webhook_conversion(config: Json, *, versions: tuple[str, ...] = ("v1", "v1beta1")) -> Json:
    """Return a spec.conversion that calls a webhook."""
    return {"strategy": "Webhook", "webhook": {"clientConfig": config, "conversionReviewVersions": list(versions)}}


def ca_bundle(text: str) -> str:
    """Return a caBundle as kube-apiserver stores it."""
    return base64.b64encode(text.encode()).decode()


class Followed:
    """The CRDs and Conversion objects of a cluster, with their compiled rules; all changes are applied at once."""

    def __init__(self, compile: Compile = lambda _crd, _conversion, **_: MadeConverter(Renaming())) -> None:
        self.full: dict[str, Json] = {}
        self.changes: list[str] = []
        self.crds = ClusterObjects(self.changes.append, crd_summary)
        self.xrds = ClusterObjects(lambda _name: None, xrd_summary)
        self.definitions = ClusterDefinitions(self.crds, self.xrds)
        self.objects = ClusterObjects(self.changes.append, conversion_summary)
        self.conversions = Conversions(self.crds, self.objects, self.read, compile)

    async def read(self, name: str) -> Json | None:
        """Return a whole CRD."""
        return self.full.get(name)

    async def put(self, *found: Json) -> None:
        """Create or change objects, and compile what changes."""
        for one in found:
            if one.get("kind") == "Conversion":
                self.objects.changed(one)
            else:
                self.full[one["metadata"]["name"]] = one
                self.crds.changed(one)
        await self.sync()

    async def sync(self) -> None:
        """Compile what has changed."""
        while self.changes:
            await self.conversions.sync(self.changes.pop())


def review(objects: Any, target: str = f"{GROUP}/v2", *, version: str = "v1", **request: Any) -> Json:
    """Return a review as kube-apiserver sends it."""
    asked = {"uid": "the-uid", "desiredAPIVersion": target, "objects": objects, **request}
    empty: Json = {"uid": "", "convertedObjects": None, "result": {"metadata": {}}}
    return {"kind": "ConversionReview", "apiVersion": f"apiextensions.k8s.io/{version}", "request": asked, "response": empty}


def widget(name: str = "w", version: str = "v1", **more: Any) -> Json:
    """Return an object."""
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Widget", "metadata": {"name": name, "namespace": "default"}, **more}


def encoded(document: Any) -> bytes:
    """Return the body of a request."""
    return json.dumps(document).encode()
