"""kubernetes_asyncio, the asynchronous variant of the official Python client: custom objects, the dynamic client, watches."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from kubernetes_asyncio import client, config, watch
from kubernetes_asyncio.dynamic import DynamicClient
from transcript import GROUP, NAMESPACE, PLURAL, gadget, say

WHERE = {"group": GROUP, "version": "v1", "namespace": NAMESPACE, "plural": PLURAL}
MERGE, JSON, APPLY = "application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"


async def tell(step: str, call: Callable[..., Awaitable[Any]], *arguments: Any, **options: Any) -> Any:
    """Write the answer of a call, or its Status."""
    try:
        answer = await call(*arguments, **options)
    except client.ApiException as error:
        say(step, {"status": error.status, "body": json.loads(error.body)})
        return None
    say(step, answer)
    return answer


async def objects(api: client.CustomObjectsApi) -> None:
    """Go through the life of an object."""
    await tell("create", api.create_namespaced_custom_object, **WHERE, body=gadget("one", labels={"tier": "a"}, replicas=2))
    await tell("create again", api.create_namespaced_custom_object, **WHERE, body=gadget("one"))
    await tell("invalid", api.create_namespaced_custom_object, **WHERE, body=gadget("two", color="pink", replicas=10, ratio="x"))
    await tell("strict", api.create_namespaced_custom_object, **WHERE, body=gadget("two", shape="round"), field_validation="Strict")
    first = await tell("get", api.get_namespaced_custom_object, **WHERE, name="one")
    await tell("missing", api.get_namespaced_custom_object, **WHERE, name="none")
    await tell("other version", api.get_namespaced_custom_object, **{**WHERE, "version": "v1beta1"}, name="one")
    first["spec"]["color"] = "red"
    await tell("replace", api.replace_namespaced_custom_object, **WHERE, name="one", body=first)
    await tell("stale replace", api.replace_namespaced_custom_object, **WHERE, name="one", body=first)
    patch = api.patch_namespaced_custom_object
    await tell("merge patch", patch, **WHERE, name="one", body={"spec": {"ratio": 0.5}}, _content_type=MERGE)
    await tell("json patch", patch, **WHERE, name="one", body=[{"op": "add", "path": "/spec/port", "value": "http"}], _content_type=JSON)
    await tell("failed test", patch, **WHERE, name="one", body=[{"op": "test", "path": "/spec/port", "value": 1}], _content_type=JSON)
    await tell("apply", patch, **WHERE, name="one", body=gadget("one"), field_manager="mine", _content_type=APPLY)
    await tell("forced", patch, **WHERE, name="one", body=gadget("one"), field_manager="mine", force=True, _content_type=APPLY)
    body = {"status": {"replicas": 3, "selector": "app=one"}}
    await tell("status", api.patch_namespaced_custom_object_status, **WHERE, name="one", body=body, _content_type=MERGE)
    scale = api.patch_namespaced_custom_object_scale
    await tell("scale", scale, **WHERE, name="one", body={"spec": {"replicas": 4}}, _content_type=MERGE)
    await tell("scale beyond", scale, **WHERE, name="one", body={"spec": {"replicas": 40}}, _content_type=MERGE)


async def collections(api: client.CustomObjectsApi) -> None:
    """Read pages and selections."""
    for number in range(4):
        await api.create_namespaced_custom_object(**WHERE, body=gadget(f"many-{number}", labels={"part": str(number % 2)}))
    read = api.list_namespaced_custom_object
    page = await tell("first page", read, **WHERE, limit=3)
    await tell("second page", read, **WHERE, limit=3, _continue=page["metadata"]["continue"])
    await tell("by label", read, **WHERE, label_selector="part in (1)")
    await tell("by field", read, **WHERE, field_selector="spec.color=blue,metadata.name!=one")
    await tell("by unknown field", read, **WHERE, field_selector="spec.unknown=blue")


async def events(api: client.CustomObjectsApi) -> None:
    """Watch three changes, from a revision that is known and from one that is too old."""
    seen = await api.list_namespaced_custom_object(**WHERE)
    await api.create_namespaced_custom_object(**WHERE, body=gadget("seen"))
    await api.patch_namespaced_custom_object(**WHERE, name="seen", body={"spec": {"color": "green"}}, _content_type=MERGE)
    await api.delete_namespaced_custom_object(**WHERE, name="seen")
    stream = watch.Watch()
    count = 0
    revision = seen["metadata"]["resourceVersion"]
    async for event in stream.stream(api.list_namespaced_custom_object, **WHERE, resource_version=revision, timeout_seconds=60):
        say("event", {"type": event["type"], "object": event["raw_object"]})
        count += 1
        if count == 3:
            break
    await stream.close()


async def dynamic(api: client.ApiClient) -> None:
    """Discover the resource and use it by its kind."""
    found = await (await DynamicClient(api)).resources.get(api_version=f"{GROUP}/v1", kind="Gadget")
    say("discovered", {"name": found.name, "verbs": sorted(found.verbs), "short": found.short_names, "namespaced": found.namespaced})


async def main() -> None:
    """Run all parts, and delete what is left."""
    await config.load_kube_config()
    async with client.ApiClient() as connection:
        api = client.CustomObjectsApi(connection)
        await objects(api)
        await collections(api)
        await events(api)
        await dynamic(connection)
        body = {"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}}
        await tell("delete another", api.delete_namespaced_custom_object, **WHERE, name="one", body=body)
        await tell("delete", api.delete_namespaced_custom_object, **WHERE, name="one")
        await tell("delete collection", api.delete_collection_namespaced_custom_object, **WHERE, label_selector="part=1")
        await tell("left", api.list_namespaced_custom_object, **WHERE)


asyncio.run(main())
