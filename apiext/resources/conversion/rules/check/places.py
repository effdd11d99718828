"""Names of the parts of rules, as findings point to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.resources.conversion.rules import model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_KINDS: Final[Mapping[type[Any], str]] = {
    model.Move: "move",
    model.Copy: "copy",
    model.Default: "default",
    model.EnumMap: "enum",
    model.Wrap: "wrap",
    model.Unwrap: "unwrap",
    model.Split: "split",
    model.Join: "join",
    model.ListToMap: "listToMap",
    model.MapToList: "mapToList",
    model.Drop: "drop",
    model.Expressions: "expression",
}


@dataclass(frozen=True, slots=True)
class PlacedRule:
    """A rule, and where it stands in the Conversion object."""

    rule: model.Rule
    path: str
    """Such as spec.spokes[0].rules[3]."""
    kind: str
    """The member of the object that the rule is."""
    written: Mapping[str, Any]
    """What stands below that member; empty if that is not known."""

    @property
    def name(self) -> str:
        """Return the path of the rule with its kind."""
        return f"{self.path}.{self.kind}"

    def part(self, member: str) -> str:
        """Return the path of a member. A rename calls the source of its move `path`."""
        return f"{self.name}.{'path' if self.kind == 'rename' and member == 'from' else member}"


def placed_rules(rules: model.ConversionRules, spoke: int) -> Sequence[PlacedRule]:
    """Return the rules of a spoke with their places."""
    written = _written(rules.document, spoke)
    found: list[PlacedRule] = []
    for index, rule in enumerate(rules.spokes[spoke].rules):
        text = written[index] if index < len(written) else {}
        kind = next(iter(text), _KINDS[type(rule)])
        found.append(PlacedRule(rule, f"{spoke_path(spoke)}.rules[{index}]", kind, text.get(kind) or {}))
    return found


def spoke_path(spoke: int) -> str:
    """Return the path of a spoke."""
    return f"spec.spokes[{spoke}]"


def _written(spec: Mapping[str, Any], spoke: int) -> Sequence[Any]:
    spokes = spec.get("spokes")
    rules = spokes[spoke].get("rules") if isinstance(spokes, list) and spoke < len(spokes) else None
    return rules if isinstance(rules, list) else []
