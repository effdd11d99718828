"""A definition of a host cluster, as far as it matters here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.definitions.codec import GVK, CRDCodec
from apiext.meta import json_codec
from apiext.meta.host_annotations import DOMAIN, HOST_REVISION, HOST_UID, is_asked_back

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.meta.json_codec import Object
    from apiext.meta.selectors import LabelSelector

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_OWN: Final = f"{DOMAIN}/"


class MirrorError(Exception):
    """A definition of the host cannot be followed, until something changes; the message says why."""


class OlderStateError(Exception):
    """The mirror has followed a later state of the host's definition, that of `revision`."""

    def __init__(self, revision: int) -> None:
        super().__init__(f"a later state is known: {revision}")
        self.revision = revision


@dataclass(frozen=True, slots=True)
class HostDefinition:
    """One state of it."""

    name: str
    uid: str
    revision: int
    is_wanted: bool
    """Whether it is selected, and nobody asks for it back."""
    is_terminating: bool
    content: bytes
    """As JSON: what of the metadata and the spec its mirror has, too."""

    def definition(self) -> Object:
        """What the mirror is to be, in canonical form. Raises MirrorError for what is no definition to this server."""
        crd: Object = json_codec.loads(self.content)
        try:
            unknown = CRDCodec().decode_body(crd, True)  # noqa: FBT003
        except ValueError as error:
            raise MirrorError(f"{self.name}: {error}") from error
        if unknown:
            raise MirrorError(f"{self.name}: {', '.join(unknown)}")
        return crd

    def mirror(self, existing: Mapping[str, Any] | None = None) -> Object:
        """The mirror's definition, from what it is so far: an existing one keeps what is its own. Raises MirrorError."""
        wanted = self.definition()
        before = (existing or {}).get("metadata") or {}
        kept = {key: value for key, value in (before.get("annotations") or {}).items() if key.startswith(_OWN)}
        metadata = {**before, "name": self.name}
        given = wanted["metadata"]
        metadata["labels"] = given.get("labels") or {}
        metadata["annotations"] = {**(given.get("annotations") or {}), **kept, HOST_UID: self.uid, HOST_REVISION: str(self.revision)}
        return {**(existing or wanted), "metadata": metadata, "spec": wanted["spec"]}


def hosted(found: Mapping[str, Any], selector: LabelSelector) -> HostDefinition:
    """A definition as the host's API gives it."""
    metadata = found.get("metadata") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    followed = {key: value for key, value in annotations.items() if key != _LAST_APPLIED and not key.startswith(_OWN)}
    content = {
        "apiVersion": GVK.api_version,
        "kind": GVK.kind,
        "metadata": {"name": metadata["name"], "labels": labels, "annotations": followed},
        "spec": found.get("spec"),
    }
    return HostDefinition(
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        revision=int(metadata.get("resourceVersion") or 0),
        is_wanted=selector.matches(labels) and not is_asked_back(annotations),
        is_terminating="deletionTimestamp" in metadata,
        content=json_codec.dumps(content, sort_keys=False),
    )
