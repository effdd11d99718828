"""Rules for tests of what is carried: transformations that functions stand for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.conversion.metrics import RulesStats
from apiext.resources.conversion.rules.converter import RulesConverter
from apiext.resources.conversion.rules.declared_losses import DeclaredLosses
from apiext.resources.conversion.rules.interface import UNKNOWN, Transformation
from apiext.resources.conversion.rules.model import ConversionRules
from apiext.schema.compiled import CompiledSchema

Change = Callable[[Object], bool | None]
"""Changes an object in place. Returns whether it is exact; None is no."""
ANY_FIELDS = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@dataclass(frozen=True)
class FunctionTransformation:
    """Implements Transformation."""

    change: Change

    def apply(self, obj: Object, known: Object = UNKNOWN) -> bool:
        """Implement Transformation.apply."""
        obj |= json_values.copy(obj)
        return bool(self.change(obj))

    def failures(self, _obj: Object) -> list[tuple[str, str]]:
        """Implement Transformation.failures."""
        return []


@dataclass(frozen=True)
class FunctionRules:
    """Implements CompiledRules with a function for each pair of versions."""

    changes: Mapping[tuple[str, str], Change]
    has_expressions: bool = False

    def transformation(self, source: str, target: str) -> Transformation:
        """Implement CompiledRules.transformation."""
        return FunctionTransformation(self.changes[source, target])


def converter(
    changes: Mapping[tuple[str, str], Change],
    schemas: Mapping[str, Any] | None = None,
    rules: ConversionRules | None = None,
    storage: str = "v2",
    stats: RulesStats | None = None,
    hub: str = "",
) -> RulesConverter:
    """Return a converter of widgets.example.com. Schemas are those of spec; without them, every field is known."""
    versions = {version for pair in changes for version in pair}
    compiled = {
        version: CompiledSchema(ANY_FIELDS if schemas is None else {"type": "object", "properties": {"spec": schemas[version]}})
        for version in versions
    }
    losses = DeclaredLosses(rules or ConversionRules("widgets.example.com", storage, ()))
    return RulesConverter(FunctionRules(changes), losses, compiled, storage, "widgets.example.com", stats, hub)


def scrambling(seed: str) -> Change:
    """Return a deterministic function that removes, changes, adds and reorders values of an object's spec as the seed says."""

    def dice(*what: Any) -> int:
        return int.from_bytes(hashlib.blake2b(json_codec.dumps([seed, *what]), digest_size=2).digest())

    def scrambled(value: Any) -> Any:
        if type(value) is dict:
            kept = {name: scrambled(member) for name, member in value.items() if dice("drop", name) % 4}
            return kept | ({"added": seed} if dice("add", sorted(value)) % 8 == 0 else {})
        if type(value) is list:
            kept_items = [scrambled(item) for item in value if dice("item", item) % 8]
            return sorted(kept_items, key=lambda item: dice("order", item)) if dice("sort", len(value)) % 2 else kept_items
        return (value, value, value, json_codec.dumps(value).decode(), None, 1, True)[dice("scalar", value) % 7]

    def change(obj: Object) -> bool:
        before = obj["spec"]
        obj["spec"] = scrambled(before)
        return False

    return change
