"""First rules between two versions, by comparing their schemas."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from apiext.resources.authoring.field_matching import GENERIC_NAMES, LoneField, match_fields, member_likeness
from apiext.resources.conversion.rules.model import EACH
from apiext.resources.conversion.rules.paths import path_text
from apiext.schema.compiled import CompiledSchema

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.rules.model import FieldSteps
    from apiext.schema.model import Structural

_IDENTITY: Final = frozenset({"apiVersion", "kind", "metadata"})
_KEYS: Final = ("name", "key", "type", "id")
"""Fields that identify the items of a list, best first."""
_SCALARS: Final = frozenset({"string", "integer", "number", "boolean"})


@dataclass(frozen=True, slots=True)
class DraftedRule:
    """A rule, and why it was written."""

    rule: Object
    reason: str


@dataclass(slots=True)
class SpokeDraft:
    """What the comparison of a spoke with the hub has found."""

    version: str
    rules: list[DraftedRule] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    """What a person must decide, one sentence each."""

    def add_default(self, path: str, value: Any, version: str, *, is_hub: bool) -> bool:
        """Add a default for a field that a version requires. Return whether it is new."""
        rule: Object = {"default": {"path": path, "value": value} | ({} if is_hub else {"in": "spoke"})}
        if any(each.rule == rule for each in self.rules):
            return False
        self.rules.append(DraftedRule(rule, f"Required in {version}. Decide which value"))
        return True


class Pairing:
    """Compares the schema of a spoke with that of the hub."""

    def __init__(self, spoke: str, hub: str) -> None:
        self._spoke = spoke
        self._hub = hub
        self._draft = SpokeDraft(spoke)
        self._lone: tuple[list[LoneField], list[LoneField]] = ([], [])
        self._required: list[tuple[FieldSteps, Structural, str]] = []

    def compare(self, spoke: Structural, hub: Structural) -> SpokeDraft:
        """Return the rules and decisions."""
        self._objects(spoke, hub, ())
        self._match()
        for steps, schema, side in self._required:
            self._default(steps, schema, side)
        return self._draft

    # --- fields of the same name ----------------------------------------------------------------------------------------------

    def _objects(self, spoke: Structural, hub: Structural, steps: FieldSteps) -> None:
        for name, child in spoke.properties.items():
            if not steps and name in _IDENTITY:
                continue
            other = hub.properties.get(name)
            if other is not None:
                self._values(child, other, (*steps, name))
            elif not hub.preserve and hub.additional is None:
                self._lone[0].append(LoneField((*steps, name), child, frozenset(spoke.properties)))
        for name, child in hub.properties.items():
            if name not in spoke.properties and not (not steps and name in _IDENTITY) and not spoke.preserve and spoke.additional is None:
                self._lone[1].append(LoneField((*steps, name), child, frozenset(hub.properties)))
        for schema, other, side in ((hub, spoke, "hub"), (spoke, hub, "spoke")):
            self._required += [
                ((*steps, name), child, side)
                for name, child in schema.properties.items()
                if name in (schema.raw.get("required") or ()) and name not in other.properties and child.default is None and steps
            ]

    def _values(self, spoke: Structural, hub: Structural, steps: FieldSteps) -> None:
        if spoke.raw == hub.raw:
            return
        kinds = _shape(spoke), _shape(hub)
        if kinds == ("object", "object"):
            if not self._nested(spoke, hub, steps):
                self._objects(spoke, hub, steps)
        elif kinds[0] == kinds[1] and kinds[0] in ("array", "map"):
            inner = (spoke.items or spoke.additional, hub.items or hub.additional)
            if inner[0] is not None and inner[1] is not None:
                self._values(inner[0], inner[1], (*steps, EACH))
        elif kinds[0] == kinds[1] or "" in kinds:
            self._enum(spoke, hub, steps)
        else:
            self._other_type(spoke, hub, steps)

    def _nested(self, spoke: Structural, hub: Structural, steps: FieldSteps) -> bool:
        """Relate an object to one that has it as a member. Return whether there is one."""
        name = _holding(hub, spoke)
        if name is not None:
            self._add({"wrap": {"path": path_text(steps), "field": name}}, f"What {self._spoke} has here, {self._hub} has in {name}")
            self._carried(steps, hub, name, self._hub, self._spoke)
            self._values(spoke, hub.properties[name], (*steps, name))
            return True
        name = _holding(spoke, hub)
        if name is not None:
            self._add({"unwrap": {"path": path_text(steps), "field": name}}, f"What {self._spoke} has in {name}, {self._hub} has here")
            self._carried(steps, spoke, name, self._spoke, self._hub)
            self._values(spoke.properties[name], hub, steps)
        return name is not None

    def _carried(self, steps: FieldSteps, schema: Structural, taken: str, version: str, other: str) -> None:
        """Ask what becomes of the other fields of an object."""
        lone = [LoneField((*steps, name), child) for name, child in schema.properties.items() if name != taken]
        self._draft.decisions += [_no_counterpart(each, version, other) for each in lone]

    def _enum(self, spoke: Structural, hub: Structural, steps: FieldSteps) -> None:
        values, others = spoke.raw.get("enum") or [], hub.raw.get("enum") or []
        if not values or not others or not all(isinstance(each, str) for each in (*values, *others)):
            return
        known = {_folded(each): each for each in others}
        mapped = {value: known[_folded(value)] for value in values if value not in others and _folded(value) in known}
        if mapped and len(set(mapped.values())) == len(mapped):
            self._add({"enum": {"path": path_text(steps), "map": mapped}}, "The same values in another spelling")
        left = [value for value in values if value not in others and value not in mapped]
        new = [value for value in others if value not in values and value not in mapped.values()]
        if left or new:
            text = f"{path_text(steps)}: {self._spoke} alone has the values {left}, {self._hub} alone has {new}: add an enum rule"
            self._draft.decisions.append(text)

    # --- fields of another type -----------------------------------------------------------------------------------------------

    def _other_type(self, spoke: Structural, hub: Structural, steps: FieldSteps) -> None:
        rule = _retyped(spoke, hub, path_text(steps))
        if rule is not None:
            self._add(rule, f"Of type {_shape(spoke)} in {self._spoke}, and {_shape(hub)} in {self._hub}")
            return
        text = f"{path_text(steps)} is of type {_shape(spoke)} in {self._spoke} and {_shape(hub)} in {self._hub}"
        self._draft.decisions.append(f"{text}: write an expression for both directions, or move it away to carry it")

    # --- fields without a counterpart ------------------------------------------------------------------------------------------

    def _match(self) -> None:
        matched = match_fields(*self._lone)
        matches = matched.found
        moved: list[tuple[Structural, Structural, FieldSteps]] = []
        for match in matches:
            source, target = match.source.steps, match.target.steps
            if source[:-1] == target[:-1]:
                self._add({"rename": {"path": path_text(source), "to": target[-1]}}, match.reason)
            else:
                self._add({"move": {"from": path_text(source), "to": path_text(target)}}, match.reason)
            moved.append((match.source.schema, match.target.schema, target))
        before, after = [each.source.steps for each in matches], [each.target.steps for each in matches]
        left = [[each for each in fields if not _covers(each, taken)] for fields, taken in zip(self._lone, (before, after), strict=True)]
        self._plural(left[0], left[1])
        for fields, version, other in ((left[0], self._spoke, self._hub), (left[1], self._hub, self._spoke)):
            self._draft.decisions += [_no_counterpart(each, version, other) for each in fields]
        for match in matched.unclear:
            text = (
                f"{path_text(match.source.steps)} of {self._spoke} may be {path_text(match.target.steps)} of {self._hub}, or another field"
            )
            self._draft.decisions.append(f"{text} is: {match.reason.lower()}")
        self._required = [each for each in self._required if not _reaches(each[0], after if each[2] == "hub" else before)]
        self._lone = ([], [])
        for spoke, hub, steps in moved:
            self._values(spoke, hub, steps)
        if self._lone != ([], []):
            self._match()

    def _plural(self, sources: list[LoneField], targets: list[LoneField]) -> None:
        """Relate a field to a list of the same values, such as host and hosts."""
        for source in [*sources]:
            for target in [*targets]:
                if source.steps[:-1] != target.steps[:-1] or not _is_plural(source, target):
                    continue
                path = path_text(target.steps)
                self._add({"rename": {"path": path_text(source.steps), "to": target.steps[-1]}}, "The plural of the name")
                kind = "wrap" if target.schema.items is not None else "unwrap"
                self._add({kind: {"path": path, "list": True}}, f"A list in {self._hub if kind == 'wrap' else self._spoke}")
                sources.remove(source)
                targets.remove(target)
                self._required = [each for each in self._required if each[0] not in (source.steps, target.steps)]
                break

    def _default(self, steps: FieldSteps, schema: Structural, side: str) -> None:
        version = self._hub if side == "hub" else self._spoke
        value = simple_value(schema)
        if value is None:
            self._draft.decisions.append(f"{version} requires {path_text(steps)}: add a default")
            return
        self._draft.add_default(path_text(steps), value, version, is_hub=side == "hub")

    def _add(self, rule: Object, reason: str) -> None:
        self._draft.rules.append(DraftedRule(rule, reason))


def _no_counterpart(field: LoneField, version: str, other: str) -> str:
    return f"{path_text(field.steps)} of {version} has no counterpart in {other}: it is carried. Move it, or drop it with a reason"


def _holding(outer: Structural, inner: Structural) -> str | None:
    """Return the member of an object that is like another object, which is less like the whole; None if there is none.

    An object with one field is none: that field moves, unless its name says too little.
    """
    found: dict[str, float] = {}
    for name, child in outer.properties.items():
        shared = child.properties.keys() & inner.properties.keys()
        if name not in inner.properties and (len(shared) > 1 or shared & GENERIC_NAMES):
            found[name] = member_likeness(child, inner)
    chosen = max(found, key=lambda name: found[name], default=None)
    return chosen if chosen is not None and found[chosen] > max(0.5, 2 * member_likeness(outer, inner)) else None


def simple_value(schema: Structural) -> Any:
    """Return the simplest value that a schema allows, None if that is not found."""
    raw = schema.raw
    by_type: dict[str, list[Any]] = {
        "string": ["", "a", "a" * (raw.get("minLength") or 0), "1", "a.example", "1s"],
        "integer": [0, raw.get("minimum"), raw.get("maximum"), 1],
        "number": [0, raw.get("minimum"), raw.get("maximum")],
        "boolean": [False, True],
        "array": [[]],
        "object": [{}, _required_members(schema)],
    }
    candidates = by_type.get(raw.get("type") or "", [0, ""])
    check = CompiledSchema({"type": "object", "properties": {"value": raw}})
    for value in [*(raw.get("enum") or ()), *candidates]:
        if value is not None and not check.validate_values({"value": value}):
            return value
    return None


def _required_members(schema: Structural) -> Object:
    """Return the simplest values of the required members of an object that have one."""
    members = {name: schema.properties[name] for name in schema.raw.get("required") or () if name in schema.properties}
    return {name: value for name, child in members.items() if (value := simple_value(child)) is not None}


def _retyped(spoke: Structural, hub: Structural, path: str) -> Object | None:
    """Return a rule between two types, None if no kind of rule relates them."""
    kinds = _shape(spoke), _shape(hub)
    for name, inner, outer in (("wrap", spoke, hub), ("unwrap", hub, spoke)):
        if _shape(inner) in _SCALARS and _shape(outer) == "object":
            names = [key for key, child in outer.properties.items() if _shape(child) == _shape(inner)]
            required = [key for key in names if key in (outer.raw.get("required") or ())]
            chosen = required if len(required) == 1 else names
            if len(chosen) == 1:
                return {name: {"path": path, "field": chosen[0]}}
        if outer.items is not None and _shape(outer.items) == _shape(inner) and _shape(inner) in _SCALARS | {"object"}:
            return {name: {"path": path, "list": True}}
    for name, items, mapped, wanted in (
        ("listToMap", spoke.items, hub.additional, ("array", "map")),
        ("mapToList", hub.items, spoke.additional, ("map", "array")),
    ):
        if kinds == wanted and items is not None and mapped is not None:
            keys = _keyed(spoke if name == "listToMap" else hub, items, mapped)
            return {name: {"path": path} | keys} if keys else None
    return None


def _keyed(schema: Structural, items: Structural, mapped: Structural) -> Object | None:
    texts = [name for name, child in items.properties.items() if _shape(child) == "string"]
    keys = [*schema.list_map_keys] if len(schema.list_map_keys) == 1 else [name for name in _KEYS if name in texts]
    if not keys or keys[0] not in texts:
        return None
    others = [name for name, child in items.properties.items() if name != keys[0] and _shape(child) == _shape(mapped)]
    if _shape(mapped) == "object" and mapped.properties.keys() <= items.properties.keys() - {keys[0]}:
        return {"key": keys[0]}
    return {"key": keys[0], "value": others[0]} if len(others) == 1 and len(items.properties) == 2 else None


def _shape(schema: Structural) -> str:
    """Return the type of values, `map` for an object with arbitrary names, "" for any."""
    if schema.raw.get("x-kubernetes-int-or-string") is True:
        return "int-or-string"
    kind: str = schema.raw.get("type") or ""
    return "map" if kind == "object" and schema.additional is not None else kind


def _folded(text: str) -> str:
    return text.lower().replace("-", "").replace("_", "")


def _covers(field: LoneField, taken: list[FieldSteps]) -> bool:
    """Return whether a field, or one below it, is in a match."""
    return _reaches(field.steps, taken)


def _reaches(required: FieldSteps, placed: list[FieldSteps]) -> bool:
    """Return whether a required field, or one below it, is the place of a match."""
    return any(steps[: len(required)] == required for steps in placed)


def _is_plural(one: LoneField, other: LoneField) -> bool:
    singular, plural = (one, other) if other.schema.items is not None else (other, one)
    if plural.schema.items is None or singular.schema.items is not None or _shape(plural.schema.items) != _shape(singular.schema):
        return False
    name, several = singular.steps[-1].lower(), plural.steps[-1].lower()
    return several in (f"{name}s", f"{name}es", f"{name[:-1]}ies", f"{name}list")
