"""Judges manifests of objects that do not exist yet: a create in the version that the manifest names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.lab.judgement.field_paths import described, general, steps_of
from apiext.lab.judgement.findings import Findings, Group
from apiext.lab.judgement.outcome import FindingKind
from apiext.registry.metadata import own

if TYPE_CHECKING:
    from apiext.lab.judgement.judged_definition import JudgedDefinition
    from apiext.lab.releases.interface import SourceObject
    from apiext.meta.encoding.json_codec import Object

_UNKNOWN: Final = 'unknown field "'


def judge_creation(judged: JudgedDefinition, source: SourceObject, findings: Findings) -> None:
    """Add the reasons why an object cannot be created, and the fields that a create drops."""
    name = str(source.object.get("apiVersion", "")).rpartition("/")[2]
    if not judged.has(str(source.object.get("apiVersion", ""))) or name not in judged.served:
        text = f"the manifest names {name}, which is not served"
        findings.add(source.key, Group(FindingKind.UNKNOWN_VERSION, name, "", text))
        return
    version = judged.version(name)
    schema = version.schema.structural
    obj: Object = own(source.object)
    if judged.definition.namespaced and not obj["metadata"].get("namespace"):
        obj["metadata"]["namespace"] = source.key.rpartition("/")[0] or "default"
    try:
        obj, unknown = version.decode(obj)
    except ValueError as error:
        findings.add(source.key, Group(FindingKind.INVALID, name, "", str(error)))
        return
    for text in unknown:
        path = general(steps_of(text.removeprefix(_UNKNOWN).removesuffix('"'), source.object), schema)
        findings.add(source.key, Group(FindingKind.PRUNED, name, path, "a create drops the unknown field"))
    for problem in version.create_errors(obj):
        path, message = described(problem, obj, schema)
        findings.add(source.key, Group(FindingKind.INVALID, name, path, message))
