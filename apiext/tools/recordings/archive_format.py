"""The form of an archive: a tar file in gzip.

    recording.json          RecordingManifest
    definitions/NAME.json   a definition with its status
    objects/NAME.jsonl      its objects, one a line, in the order of their keys

Equal content gives equal bytes: members are sorted, and their times are 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from apiext.base.meta.encoding import json_codec
from apiext.tools.releases.interface import SourceError, SourceObject

if TYPE_CHECKING:
    from collections.abc import Mapping

MANIFEST: Final = "recording.json"
VERSION: Final = 1
"""Version of the form. A reader refuses later ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingManifest:
    """What an archive has, and where it comes from."""

    origin: str
    """The source in words. "" if the archive is anonymized."""
    is_redacted: bool
    is_anonymized: bool
    objects: Mapping[str, int]
    """The number of objects by definition."""

    def dump(self) -> bytes:
        """Return the manifest as JSON."""
        document = {
            "kind": "Recording",
            "version": VERSION,
            "origin": self.origin,
            "redacted": self.is_redacted,
            "anonymized": self.is_anonymized,
            "definitions": [{"name": name, "objects": count} for name, count in sorted(self.objects.items())],
        }
        return json_codec.pretty(json_codec.dumps(document, sort_keys=False)) + b"\n"

    @classmethod
    def load(cls, data: bytes) -> RecordingManifest:
        """Return the manifest in JSON.

        Raises:
            SourceError: it is not a manifest, or of a later version.
        """
        try:
            document: Any = json_codec.loads(data)
            if document["kind"] != "Recording" or type(document["version"]) is not int:
                raise SourceError("the archive is not a recording")
            if document["version"] > VERSION:
                raise SourceError(
                    f"the archive has version {document['version']} of the form; this version of apiext reads up to {VERSION}"
                )
            return cls(
                origin=document["origin"],
                is_redacted=document["redacted"],
                is_anonymized=document["anonymized"],
                objects={one["name"]: one["objects"] for one in document["definitions"]},
            )
        except (ValueError, TypeError, KeyError) as error:
            raise SourceError("the archive is not a recording") from error


def definition_member(name: str) -> str:
    """Return the member of a definition."""
    return f"definitions/{quote(name, safe='')}.json"


def objects_member(name: str) -> str:
    """Return the member of a definition's objects."""
    return f"objects/{quote(name, safe='')}.jsonl"


def dump_object(found: SourceObject) -> bytes:
    """Return the line of an object."""
    line: dict[str, Any] = {"key": found.key}
    if found.problem:
        line["problem"] = found.problem
    elif found.is_stored:
        line["storedVersion"] = str(found.object.get("apiVersion", "")).rpartition("/")[2]
    return json_codec.dumps(line | {"object": found.object}, sort_keys=False) + b"\n"


def load_object(line: bytes) -> SourceObject:
    """Return the object of a line.

    Raises:
        SourceError: it is not such a line.
    """
    try:
        found = json_codec.loads(line)
        problem = found.get("problem", "")
        return SourceObject(found["key"], found["object"], is_stored="storedVersion" in found or bool(problem), problem=problem)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SourceError("the archive has a damaged line of an object") from error
