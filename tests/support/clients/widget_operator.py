"""A user's kopf operator, for `kopf run -m`. It records in the status which handlers ran."""

from typing import Any, Final

import kopf

GROUP: Final = "kopf.example.com"


@kopf.on.create(GROUP, "widgets")
def created(spec: kopf.Spec, body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
    """Record the creation in the status and post an event."""
    patch.status["created"] = spec.get("replicas")
    kopf.info(body, reason="Built", message=f"built {spec.get('replicas')}")


@kopf.on.update(GROUP, "widgets", field="spec.replicas")
def updated(old: Any, new: Any, patch: kopf.Patch, **_: Any) -> None:
    """Record the update."""
    patch.status["updated"] = f"{old} to {new}"


@kopf.on.resume(GROUP, "widgets")
def resumed(patch: kopf.Patch, status: kopf.Status, **_: Any) -> None:
    """Count how often the operator resumed the object."""
    patch.status["resumed"] = status.get("resumed", 0) + 1


@kopf.on.delete(GROUP, "widgets")
def deleted(body: kopf.Body, retry: int, **_: Any) -> None:
    """Fail once, then post an event."""
    if not retry:
        raise kopf.TemporaryError("not yet", delay=0.1)
    kopf.info(body, reason="Removed", message="removed")


@kopf.on.create(GROUP, "latecomers")
def came(patch: kopf.Patch, **_: Any) -> None:
    """Record the event."""
    patch.status["replicas"] = 7
