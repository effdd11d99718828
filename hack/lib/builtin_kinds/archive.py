"""The file with the data of built-in kinds."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hack.lib.builtin_kinds.go_types import read_types
from hack.lib.builtin_kinds.resources import read_resources
from hack.lib.builtin_kinds.schemas import declared_defaults, read_schemas
from hack.lib.servers.controlplane import ControlPlane

TARGET: Final = Path(__file__).resolve().parents[3] / "apiext" / "base" / "meta" / "generated" / "data.zip"
_NOT_STORED: Final = (
    "autoscaling/v1/Scale",
    "events.k8s.io/v1/Event",
    "internal.apiserver.k8s.io/v1alpha1/StorageVersion",
    *(f"authentication.k8s.io/v1/{kind}" for kind in ("SelfSubjectReview", "TokenRequest", "TokenReview")),
    *(f"authorization.k8s.io/v1/{kind}AccessReview" for kind in ("LocalSubject", "SelfSubject", "Subject")),
    "authorization.k8s.io/v1/SelfSubjectRulesReview",
)
"""Kinds of which nothing but the type is needed: no resource of the reference, with its default gates, stores objects in their form."""
_TIME: Final = (1980, 1, 1, 0, 0, 0)
"""The time of all members: equal data makes equal files."""


def collect(reference: ControlPlane) -> dict[str, bytes]:
    """Return the members of the archive by name."""
    types = read_types()
    resources = read_resources(reference.client, types.kinds)
    kinds = [(one["group"], one["version"], resource["kind"]) for one in resources for resource in one["resources"]]
    schemas = read_schemas(reference.client, [*kinds, ("autoscaling", "v1", "Scale")])
    go_types = types.closure([*("/".join(kind) for kind in kinds), *_NOT_STORED])
    documents = {"resources": resources, "types": go_types | {"defaults": declared_defaults(schemas, types)}, "schemas": schemas}
    return {f"{name}.json": _encoded(document) for name, document in documents.items()}


def _encoded(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":"), sort_keys=True).encode()


def read(path: Path = TARGET) -> dict[str, bytes]:
    """Return the members of the file."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(members: Mapping[str, bytes], path: Path = TARGET) -> None:
    """Write the file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in sorted(members.items()):
            archive.writestr(zipfile.ZipInfo(name, _TIME), data, zipfile.ZIP_DEFLATED, 9)
