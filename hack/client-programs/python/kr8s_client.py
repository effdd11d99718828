"""kr8s: dynamic classes of discovered kinds, patches, scale, watches, waits."""

from collections.abc import Callable
from typing import Any

import httpx
import kr8s
from kr8s.objects import get_class, new_class
from transcript import GROUP, NAMESPACE, gadget, say


def tell(step: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Write the answer of a call, or its error."""
    try:
        answer = call(*arguments, **options)
    except kr8s.ServerError as error:
        say(step, {"error": error.status})
        return None
    except (kr8s.NotFoundError, httpx.HTTPStatusError) as error:
        say(step, {"error": type(error).__name__})
        return None
    say(step, answer.raw if hasattr(answer, "raw") else answer)
    return answer


def main() -> None:
    """Go through the life of objects."""
    api = kr8s.api(namespace=NAMESPACE)
    kinds = [kind for kind in api.api_resources() if kind["version"].startswith(GROUP)]
    say("discovered", kinds)
    known = new_class(kind="Gadget", version=f"{GROUP}/v1", namespaced=True, scalable=True)
    say("class", {"plural": get_class("Gadget", f"{GROUP}/v1").plural})
    one = known(gadget("one", labels={"tier": "a"}, replicas=2), api=api)
    tell("create", one.create)
    tell("create again", known(gadget("one"), api=api).create)
    tell("invalid", known(gadget("two", color="pink", replicas=10), api=api).create)
    tell("get", known.get, "one", namespace=NAMESPACE, api=api)
    tell("missing", known.get, "none", namespace=NAMESPACE, timeout=1, api=api)
    say("exists", [one.exists(), known(gadget("none"), api=api).exists()])
    tell("patch", one.patch, {"spec": {"ratio": 0.5}})
    tell("json patch", one.patch, [{"op": "add", "path": "/spec/port", "value": 80}], type="json")
    tell("bad patch", one.patch, {"spec": {"color": "pink"}})
    tell("status", one.patch, {"status": {"replicas": 2}}, subresource="status")
    tell("label", one.label, {"tier": "b"})
    tell("annotate", one.annotate, {"note": "x"})
    tell("scale", one.scale, 2)
    for number in range(3):
        known(gadget(f"many-{number}", labels={"part": str(number % 2)}), api=api).create()
    found = api.get(known, namespace=NAMESPACE, label_selector={"part": "0"})
    say("by label", [item.raw for item in found])
    say("by field", [item.name for item in api.get(known, namespace=NAMESPACE, field_selector="spec.color=blue")])
    for number, (kind, item) in enumerate(api.watch(known, namespace=NAMESPACE)):
        say("event", {"type": kind, "object": item.raw})
        if number == 3:
            break
    tell("delete", one.delete)
    one.wait("delete", timeout=60)
    tell("gone", one.refresh)
    say("left", [item.name for item in api.get(known, namespace=NAMESPACE)])
    say("version", {key: api.version()[key] for key in ("major", "minor")})


main()
