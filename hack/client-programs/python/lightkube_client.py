"""lightkube: typed generic resources, server-side apply, watches."""

import json
from collections.abc import Callable
from typing import Any

import lightkube
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.types import CascadeType, PatchType
from transcript import GROUP, NAMESPACE, PLURAL, say

Gadget = create_namespaced_resource(GROUP, "v1", "Gadget", PLURAL)
Beta = create_namespaced_resource(GROUP, "v1beta1", "Gadget", PLURAL)


def made(name: str, labels: dict[str, str] | None = None, **spec: Any) -> Any:
    """Return an object of the generic class."""
    return Gadget(metadata=ObjectMeta(name=name, namespace=NAMESPACE, labels=labels), spec={"color": "blue", **spec})


def plain(answer: Any) -> Any:
    """Return what an answer holds as JSON."""
    return answer.to_dict() if hasattr(answer, "to_dict") else answer


def tell(step: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Write the answer of a call, or its Status."""
    try:
        answer = call(*arguments, **options)
    except lightkube.ApiError as error:
        say(step, {"error": error.status.to_dict()})
        return None
    say(step, plain(answer))
    return answer


def main() -> None:
    """Go through the life of objects."""
    client = lightkube.Client(namespace=NAMESPACE, field_manager="light")
    tell("create", client.create, made("one", {"tier": "a"}, replicas=2))
    tell("create again", client.create, made("one"))
    tell("invalid", client.create, made("two", color="pink", replicas=10))
    first = tell("get", client.get, Gadget, "one")
    tell("missing", client.get, Gadget, "none")
    tell("other version", client.get, Beta, "one")
    first.spec["color"] = "red"
    tell("replace", client.replace, first)
    tell("stale replace", client.replace, first)
    tell("merge patch", client.patch, Gadget, "one", {"spec": {"ratio": 0.5}}, patch_type=PatchType.MERGE)
    tell("json patch", client.patch, Gadget, "one", [{"op": "add", "path": "/spec/port", "value": 80}], patch_type=PatchType.JSON)
    tell("strategic patch", client.patch, Gadget, "one", {"spec": {"ratio": 1}}, patch_type=PatchType.STRATEGIC)
    tell("apply", client.apply, made("one", parts=[{"name": "a"}]), field_manager="other")
    tell("forced", client.apply, made("one", parts=[{"name": "a"}]), field_manager="other", force=True)
    status = {"status": {"replicas": 3, "selector": "app=one"}}
    tell("status", client.patch, Gadget.Status, "one", status, patch_type=PatchType.MERGE)
    tell("scale", client.get, Gadget.Scale, "one")
    for number in range(3):
        client.create(made(f"many-{number}", {"part": str(number % 2)}))
    say("chunks", [json.loads(json.dumps(plain(item))) for item in client.list(Gadget, chunk_size=2)])
    say("by label", [plain(item) for item in client.list(Gadget, labels={"part": "1"})])
    say("by field", [plain(item) for item in client.list(Gadget, fields={"spec.color": "blue"})])
    revision = client.get(Gadget, "one").metadata.resourceVersion
    client.patch(Gadget, "one", {"spec": {"limit": 8}}, patch_type=PatchType.MERGE)
    client.delete(Gadget, "one", cascade=CascadeType.BACKGROUND)
    for number, (kind, item) in enumerate(client.watch(Gadget, resource_version=revision, server_timeout=60)):
        say("event", {"type": kind, "object": plain(item)})
        if number == 1:
            break
    tell("delete collection", client.deletecollection, Gadget)
    say("left", [plain(item) for item in client.list(Gadget)])


main()
