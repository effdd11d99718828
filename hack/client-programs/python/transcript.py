"""The transcript of a client: one JSON object a line, of a step and its answer."""

import json
import os
from typing import Any

NAMESPACE = os.environ["CLIENT_NAMESPACE"]
GROUP, PLURAL = "clients.example.com", "gadgets"


def say(step: str, answer: Any) -> None:
    """Write one line."""
    print(json.dumps({"step": step, "answer": answer}, sort_keys=True), flush=True)


def gadget(name: str, version: str = "v1", labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """Return a Gadget; it is blue unless `spec` has another color."""
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels or {}}
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Gadget", "metadata": metadata, "spec": {"color": "blue", **spec}}
