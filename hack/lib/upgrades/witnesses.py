"""Generates objects that show what a change does: the old definition accepts them, the new one refuses or alters them."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from apiext.resources.comparison.change import Change, Grade
from apiext.resources.definitions.definition import Definition
from apiext.resources.evaluation.compiled_definition import CompiledDefinition
from apiext.resources.evaluation.compiled_version import CompiledVersion
from apiext.resources.evaluation.fields import What, differences
from hack.lib.differential.generated_objects import MAX_DEPTH, generate_resource
from hack.lib.foretell.mutated_pairs import valid_body
from hack.lib.foretell.release_pair import AppliedBodies

Json = dict[str, Any]
_MOST: Final = 12
"""Changes of a definition for which objects are looked for."""
_ATTEMPTS: Final = 60
_DEPTHS: Final = (MAX_DEPTH, MAX_DEPTH, MAX_DEPTH - 1, MAX_DEPTH - 2, 1)
_MOST_ITEMS: Final = 130
_WORD: Final = re.compile(r"\w+")
_STEP: Final = re.compile(r"\[\*?\]|[^.\[\]]+")


def witnesses(old: Definition, new: Definition, changes: Sequence[Change], rng: random.Random) -> Iterator[AppliedBodies]:
    """Yield an object for each change that is graded as an error, where one is found."""
    before, after = CompiledDefinition(old), CompiledDefinition(new)
    errors = [change for change in changes if change.grade is Grade.ERROR and change.version in {*before.served} & {*after.served}]
    versions = {version["name"]: version for version in old.object["spec"]["versions"]}
    for change in errors[:_MOST]:
        version = versions[change.version]
        root = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        required = with_required(root, change.path)
        schemas = [required, with_required(root, change.path.rpartition(".")[0]), with_many(required, change)]
        for attempt in range(_ATTEMPTS):
            made = generate_resource(
                schemas[attempt % len(schemas)],
                rng,
                api_version=f"{old.group}/{change.version}",
                kind=old.names.kind,
                depth=rng.choice(_DEPTHS),
            )
            made["metadata"] = {"name": "o0"} | ({"namespace": "default"} if old.namespaced else {})
            body = valid_body(before, version, made, rng)
            if body is not None and _is_harmed(before.version(change.version), after.version(change.version), made):
                status = made.get("status")
                yield replace(body, status=status if isinstance(status, dict) else None)
                break


def with_required(schema: Json, path: str) -> Json:
    """Return a schema that requires a value at a path, as changes give it; as far as the schema has the path."""
    found = node = copy.deepcopy(schema)
    for step in _STEP.findall(path):
        children = node.get("properties") or {}
        if step in children:
            node["required"] = [*(node.get("required") or ()), step]
            node = children[step]
        elif step.startswith("[") and isinstance(node.get("items"), dict):
            node["minItems"] = max(1, node.get("minItems") or 0)
            node = node["items"]
        elif step.startswith("[") and isinstance(node.get("additionalProperties"), dict):
            node["minProperties"] = max(1, node.get("minProperties") or 0)
            node = node["additionalProperties"]
        else:
            break
    return found


def with_many(schema: Json, change: Change) -> Json:
    """Return a schema that requires what the text of a change names, in as many items as lists may have: a new limit may be below."""
    found = copy.deepcopy(schema)
    pending, named = [_at(found, change.path)], {*_WORD.findall(change.message)}
    while pending:
        node = pending.pop()
        children = node.get("properties") or {}
        node["required"] = [*(node.get("required") or ()), *(name for name in children if name in named)]
        pending += [child for name, child in children.items() if name in node["required"]]
        if isinstance(node.get("items"), dict):
            node["minItems"] = min(node.get("maxItems", _MOST_ITEMS), _MOST_ITEMS)
            pending.append(node["items"])
    return found


def _at(schema: Json, path: str) -> Json:
    """Return the schema of a field, or of the last field above it that has one."""
    for step in _STEP.findall(path):
        below = schema.get("items" if step.startswith("[") else "properties") or {}
        below = below if step.startswith("[") else below.get(step)
        if not isinstance(below, dict):
            break
        schema = below
    return schema


def _is_harmed(old: CompiledVersion, new: CompiledVersion, made: Json) -> bool:
    """Return whether the old version accepts an object with its status, and the new one refuses it, drops a field of it, or changes one."""
    try:
        before, _ = old.decode(made)
        after, _ = new.decode(made)
    except ValueError:
        return True
    lost = (one for one in differences(before, after, old.schema.structural) if one.what is not What.ADDED)
    return not old.content_errors(before) and (any(lost) or bool(new.content_errors(after)))
