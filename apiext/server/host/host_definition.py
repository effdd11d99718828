"""State of a host's definition, reduced to the parts that its mirror copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.host_annotations import ADOPTION_CATEGORY, DOMAIN, HOST_REVISION, HOST_UID, wants_hand_over
from apiext.resources.definitions.codec import GVK, CRDCodec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.selectors import LabelSelector

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_APIEXT_PREFIX: Final = f"{DOMAIN}/"


class MirrorError(Exception):
    """A host definition cannot be mirrored until it or its mirror changes. The message says why."""


class OlderStateError(Exception):
    """The mirror has a later state of the host's definition, that of `revision`."""

    def __init__(self, revision: int) -> None:
        super().__init__(f"the mirror has a later state: {revision}")
        self.revision = revision


@dataclass(frozen=True, slots=True)
class HostDefinition:
    """One state of a host definition."""

    name: str
    uid: str
    revision: int
    is_wanted: bool
    """Whether the definition is selected, and its return to the host not requested."""
    is_terminating: bool
    content: bytes
    """The mirrored parts of metadata and spec as JSON."""

    def definition(self) -> Object:
        """Return the definition in canonical form.

        Raises:
            MirrorError: this server does not accept it.
        """
        crd: Object = json_codec.loads(self.content)
        try:
            unknown = CRDCodec().decode_body(crd, True)  # noqa: FBT003
        except ValueError as error:
            raise MirrorError(f"{self.name}: {error}") from error
        if unknown:
            raise MirrorError(f"{self.name}: {', '.join(unknown)}")
        return crd

    def mirror(self, existing: Mapping[str, Any] | None = None) -> Object:
        """Return the mirror's definition. An existing mirror keeps its own metadata, annotations and status.

        It also keeps versions with stored objects that the host has dropped, without serving them.

        Raises:
            MirrorError: this server does not accept the definition.
        """
        wanted = self.definition()
        before = (existing or {}).get("metadata") or {}
        kept = {key: value for key, value in (before.get("annotations") or {}).items() if key.startswith(_APIEXT_PREFIX)}
        metadata = {**before, "name": self.name}
        given = wanted["metadata"]
        metadata["labels"] = given.get("labels") or {}
        metadata["annotations"] = {**(given.get("annotations") or {}), **kept, HOST_UID: self.uid, HOST_REVISION: str(self.revision)}
        spec = wanted["spec"] | {"versions": [*wanted["spec"]["versions"], *_dropped_versions(wanted, existing or wanted)]}
        return {**(existing or wanted), "metadata": metadata, "spec": spec}


def _dropped_versions(wanted: Mapping[str, Any], existing: Mapping[str, Any]) -> list[Object]:
    """Return stored versions of an existing mirror that the wanted definition lacks, as unserved versions."""
    names = {version["name"] for version in wanted["spec"]["versions"]}
    kept = set((existing.get("status") or {}).get("storedVersions") or ()) - names
    return [version | {"served": False, "storage": False} for version in existing["spec"]["versions"] if version["name"] in kept]


def host_definition(found: Mapping[str, Any], selector: LabelSelector) -> HostDefinition:
    """Return the state of a definition, given an object of the host's API."""
    metadata = found.get("metadata") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    mirrored = {key: value for key, value in annotations.items() if key != _LAST_APPLIED and not key.startswith(_APIEXT_PREFIX)}
    content = {
        "apiVersion": GVK.api_version,
        "kind": GVK.kind,
        "metadata": {"name": metadata["name"], "labels": labels, "annotations": mirrored},
        "spec": _without_adoption_category(found.get("spec")),
    }
    return HostDefinition(
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        revision=int(metadata.get("resourceVersion") or 0),
        is_wanted=selector.matches(labels) and not wants_hand_over(annotations),
        is_terminating="deletionTimestamp" in metadata,
        content=json_codec.dumps(content, sort_keys=False),
    )


def _without_adoption_category(spec: Any) -> Any:
    """Return a spec without the category by which the host ends its own watches."""
    names = (spec or {}).get("names") or {}
    categories = names.get("categories") or []
    if ADOPTION_CATEGORY not in categories:
        return spec
    names = {key: value for key, value in names.items() if key != "categories"}
    kept = [one for one in categories if one != ADOPTION_CATEGORY]
    return spec | {"names": names | ({"categories": kept} if kept else {})}
