"""Facts that the execution of a write adds to its audit event. They can be sent to a worker process and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from apiext.base.meta.encoding import json_codec

if TYPE_CHECKING:
    from collections.abc import Mapping


def without_managed_fields(obj: Any) -> Any:
    """Return an object, a list or a Table without managedFields; share all other members (copyWithoutManagedFields of the reference)."""
    if not isinstance(obj, dict):
        return obj
    changed = dict(obj)
    metadata = obj.get("metadata")
    if isinstance(metadata, dict) and "managedFields" in metadata:
        changed["metadata"] = {name: member for name, member in metadata.items() if name != "managedFields"}
    if isinstance(obj.get("items"), list) and str(obj.get("kind", "")).endswith("List"):
        changed["items"] = [without_managed_fields(item) for item in obj["items"]]
    if obj.get("kind") == "Table" and isinstance(obj.get("rows"), list):
        changed["rows"] = [
            {**row, "object": without_managed_fields(row.get("object"))} if isinstance(row, dict) and row.get("object") else row
            for row in obj["rows"]
        ]
    return changed


def strip_managed_fields(data: bytes) -> bytes:
    """Return the JSON of an object, a list or a Table without managedFields."""
    if b'"managedFields"' not in data:
        return data
    return json_codec.dumps(without_managed_fields(json_codec.loads(data)), sort_keys=False)


@dataclass(slots=True)
class RequestRecord:
    """The body of a write and the annotations of its admission (LogRequestObject and LogRequestPatch of apiserver pkg/audit)."""

    with_body: bool = False
    """Whether the level of the event includes the body."""
    omit_managed_fields: bool = False
    body: bytes | None = None
    """JSON of the body."""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str] = field(default_factory=dict)
    """Annotations of admission; the first value of a key stays."""
    latencies: dict[str, float] = field(default_factory=dict)
    """Seconds that webhooks have taken, by the phase of admission."""

    def take_object(self, obj: Mapping[str, Any]) -> None:
        """Record the decoded body of a create or an update."""
        metadata = obj.get("metadata")
        if isinstance(metadata, dict):
            self.namespace, self.name = _text(metadata, "namespace"), _text(metadata, "name")
            self.uid, self.resource_version = _text(metadata, "uid"), _text(metadata, "resourceVersion")
        if self.with_body:
            shown = without_managed_fields(obj) if self.omit_managed_fields else obj
            self.body = json_codec.dumps(shown, sort_keys=False)

    def take_body(self, body: bytes) -> None:
        """Record the JSON of another body: a patch or DeleteOptions."""
        if self.with_body:
            self.body = body

    def forget(self) -> None:
        """Forget the annotations and latencies of admission, before it runs again."""
        self.annotations.clear()
        self.latencies.clear()

    def replace(self, other: RequestRecord) -> None:
        """Take the facts of a copy from a worker process. The dict of annotations stays the same object."""
        self.body, self.namespace, self.name = other.body, other.namespace, other.name
        self.uid, self.resource_version = other.uid, other.resource_version
        for own, copied in ((self.annotations, other.annotations), (self.latencies, other.latencies)):
            own.clear()
            own.update(copied)  # type: ignore[arg-type]


def _text(metadata: Mapping[str, Any], name: str) -> str:
    value = metadata.get(name)
    return value if isinstance(value, str) else ""
