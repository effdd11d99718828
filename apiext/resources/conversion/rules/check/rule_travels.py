"""Rules that change a schema, as they change the objects of that schema: a function for each kind and direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.resources.conversion.rules import model
from apiext.resources.conversion.rules.check.shape import ANYTHING, TEXT, ChangingSchema, value_shape
from apiext.resources.conversion.rules.model import EACH, Side
from apiext.resources.conversion.rules.paths import path_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from apiext.resources.conversion.rules.check.places import PlacedRule
    from apiext.resources.conversion.rules.check.report import CheckReport
    from apiext.resources.conversion.rules.model import FieldSteps

_TEXT_TYPES: Final = frozenset({"string", "integer", "boolean"})


class Travel:
    """The way of a schema from one version to another through the rules of a spoke."""

    def __init__(self, shape: ChangingSchema, original: ChangingSchema, version: str, report: CheckReport) -> None:
        """Begin with the schema of the version; it is changed. `original` is the same, and stays as it is."""
        self.shape = shape
        self._original = original
        self.version = version
        self.unwrapped: list[FieldSteps] = []
        """Fields that a rule leaves behind although none names them."""
        self._report = report

    def find(self, steps: FieldSteps, place: str) -> ChangingSchema | None:
        """Return the schema of a field. Report a field that does not exist."""
        shape = self.shape
        for index, step in enumerate(steps):
            child = shape.child(step)
            if child is None:
                self._report.problem(place, self._missing(shape, steps, index))
                return None
            shape = child
        return shape

    def has_surely(self, holder: ChangingSchema, name: str) -> bool:
        """Return whether each object of a schema has a field."""
        found = holder.properties.get(name)
        if found is None:
            return False
        return all(any(self._original.implies(known, each) for each in found.follows) for known in holder.because)

    def take(self, steps: FieldSteps, place: str) -> ChangingSchema | None:
        """Remove a field, and return it as `find` does."""
        found = self.find(steps, place)
        parent = self.find(steps[:-1], place) if found is not None else None
        if parent is not None:
            if steps[-1] == EACH:
                self._report.problem(place, "the path must end with the name of a field")
            was_sure = self.has_surely(parent, steps[-1])
            parent.properties.pop(steps[-1], None)
            self._leave(steps[:-1], was_sure=was_sure)
        return found

    def _leave(self, steps: FieldSteps, *, was_sure: bool) -> None:
        """Make an object optional that a rule may have emptied, or remove it if it surely has: emptied ones are removed.

        `was_sure`: the object surely had what the rule takes. One that was empty before stays.
        """
        while len(steps) > 1 and steps[-1] != EACH:
            holder: ChangingSchema | None = self.shape
            for step in steps[:-1]:
                holder = None if holder is None else holder.child(step)
            emptied = None if holder is None else holder.properties.get(steps[-1])
            if holder is None or emptied is None:
                return
            has_others = emptied.properties or emptied.additional is not None or emptied.preserves
            if has_others or not was_sure:
                emptied.is_emptied = not has_others
                if not any(self.has_surely(emptied, name) for name in emptied.properties):
                    emptied.follows = ()
                return
            was_sure = self.has_surely(holder, steps[-1])
            del holder.properties[steps[-1]]
            steps = steps[:-1]

    def put(self, steps: FieldSteps, shape: ChangingSchema, *, place: str, replaces: bool = False) -> None:
        """Set a field, with the objects around it. Report a field that is there already unless the rule `replaces` it."""
        holder = self.shape
        for index, step in enumerate(steps[:-1]):
            child = holder.child(step)
            if child is None:
                if step == EACH or (holder.types and "object" not in holder.types):
                    self._report.problem(place, self._missing(holder, steps, index))
                    return
                child = holder.properties[step] = ChangingSchema({"type": "object"}, place)
                child.because = child.follows = ()
            if child.is_emptied:
                child.is_emptied, child.placed = False, place
            if step != EACH:
                child.comes_with(shape)
            holder = child
        name = steps[-1]
        if holder.types and "object" not in holder.types:
            self._report.problem(place, self._missing(holder, steps, len(steps) - 1))
            return
        if not replaces and name in holder.properties and not holder.properties[name].placed:
            self._report.warn(place, f"{self.version} has a field {path_text(steps)} already, which the rule replaces; it is carried")
        if name in holder.properties:
            # it stays where there is nothing to replace it
            shape.comes_with(holder.properties[name])
        shape.placed = place
        holder.properties[name] = shape

    def mark_computed(self, steps: FieldSteps) -> None:
        """Mark a field, if it is there, as one that may end here."""
        shape: ChangingSchema | None = self.shape
        for step in steps:
            shape = None if shape is None else shape.child(step)
        if shape is not None:
            shape.is_computed = True

    def replace(self, steps: FieldSteps, shape: ChangingSchema, *, is_inner: bool = False) -> None:
        """Set what stands at the path of an existing field, and is where that was. An inner value is where it was itself."""
        holder: ChangingSchema | None = self.shape
        for step in steps[:-1]:
            holder = None if holder is None else holder.child(step)
        if holder is None:
            return
        if steps[-1] == EACH:
            is_list = holder.items is not None
            changed = shape.as_list(holder.placed) if is_list else shape.as_map(holder.placed)
            self.replace(steps[:-1], changed)
        elif steps[-1] in holder.properties:
            if not is_inner:
                shape.stand_for(holder.properties[steps[-1]])
            holder.properties[steps[-1]] = shape

    def report_type(self, shape: ChangingSchema, wanted: frozenset[str], steps: FieldSteps, place: str) -> bool:
        """Return whether a field may have one of the wanted types. Report one that cannot."""
        if not shape.types or shape.types & wanted:
            return True
        actual = " or ".join(sorted(shape.types))
        self.problem(place, f"{path_text(steps)} is of type {actual} here, expected {' or '.join(sorted(wanted))}", steps)
        return False

    def _missing(self, shape: ChangingSchema, steps: FieldSteps, index: int) -> str:
        before, name = path_text(steps[:index]), path_text(steps[: index + 1])
        if shape.types and steps[index] == EACH:
            return f"{before} is neither a list nor a map in {self.version}"
        if shape.types and "object" not in shape.types:
            return f"{before} is of type {' or '.join(sorted(shape.types))} in {self.version}, which has no fields"
        moved = self._is_original(steps[: index + 1])
        return f"{name} is not there any more: an earlier rule took it" if moved else f"{self.version} has no field {name}"

    def _is_original(self, steps: FieldSteps) -> bool:
        shape: ChangingSchema | None = self._original
        for step in steps:
            shape = None if shape is None else shape.child(step)
        return shape is not None

    def problem(self, place: str, message: str, steps: FieldSteps = ()) -> None:
        """Report a problem. What becomes of the field at `steps` is then unknown."""
        self._report.problem(place, message)
        if steps:
            self.replace(steps, ChangingSchema(ANYTHING))


def travel_to_hub(travel: Travel, rules: Sequence[PlacedRule]) -> None:
    """Take all rules, one after the other."""
    for each in rules:
        _TO_HUB[type(each.rule)](travel, each, each.rule)


def travel_to_spoke(travel: Travel, rules: Sequence[PlacedRule]) -> None:
    """Take the inverses of all rules in reverse order."""
    for each in reversed(rules):
        _TO_SPOKE[type(each.rule)](travel, each, each.rule)


def _move(travel: Travel, source: FieldSteps, target: FieldSteps, names: tuple[str, str]) -> None:
    shape = travel.take(source, names[0])
    if shape is not None:
        travel.put(target, shape, place=names[1])


def _move_to_hub(travel: Travel, each: PlacedRule, rule: model.Move) -> None:
    _move(travel, rule.source, rule.target, (each.part("from"), each.part("to")))


def _move_to_spoke(travel: Travel, each: PlacedRule, rule: model.Move) -> None:
    _move(travel, rule.target, rule.source, (each.part("to"), each.part("from")))


def _copy_to_hub(travel: Travel, each: PlacedRule, rule: model.Copy) -> None:
    shape = travel.find(rule.source, each.part("from"))
    if shape is not None:
        travel.put(rule.target, shape.copied(), place=each.part("to"))


def _copy_to_spoke(travel: Travel, each: PlacedRule, rule: model.Copy) -> None:
    travel.take(rule.target, each.part("to"))


def _default(travel: Travel, each: PlacedRule, rule: model.Default) -> None:
    parent: ChangingSchema | None = travel.shape
    for step in rule.path[:-1]:
        parent = None if parent is None else parent.child(step)
    if parent is None or (parent.types and "object" not in parent.types):
        name = path_text(rule.path[:-1])
        travel.problem(each.part("path"), f"{travel.version} has no object {name} at this point of the rules: give it a default, too")
        return
    shape = parent.child(rule.path[-1])
    if shape is None or shape.raw is ANYTHING:
        shape = value_shape(rule.value, parent, each.part("path"), each.part("value"))
    else:
        if type(rule.value) is not dict:
            shape.constants.append((rule.value, each.part("value")))
        # objects without the parent stay without the field
        shape.because += parent.because
        shape.follows += parent.because
    parent.properties[rule.path[-1]] = shape


def _default_to_hub(travel: Travel, each: PlacedRule, rule: model.Default) -> None:
    if rule.side is Side.HUB:
        _default(travel, each, rule)


def _default_to_spoke(travel: Travel, each: PlacedRule, rule: model.Default) -> None:
    if rule.side is Side.SPOKE:
        _default(travel, each, rule)


def _enum(travel: Travel, each: PlacedRule, path: FieldSteps, pairs: Sequence[tuple[Any, Any]], part: str) -> None:
    shape = travel.find(path, each.part("path"))
    if shape is None:
        return
    place = each.part(part)
    allowed = shape.raw.get("enum")
    if allowed:
        for before, _after in pairs:
            if before not in allowed:
                travel.problem(place, f"{travel.version} does not allow the value {before!r} in {path_text(path)}")
    mapped = ChangingSchema({name: value for name, value in shape.raw.items() if name not in ("enum", "type")}, shape.placed)
    if allowed:
        known = [(before, after) for before, after in pairs]
        mapped.raw = {**mapped.raw, "enum": [next((after for before, after in known if before == value), value) for value in allowed]}
    mapped.constants = [(after, place) for _before, after in pairs]
    if not any(isinstance(value, bool) or not isinstance(value, str) for pair in pairs for value in pair) and "type" in shape.raw:
        mapped.raw = {**mapped.raw, "type": shape.raw["type"]}
    travel.replace(path, mapped)


def _enum_to_hub(travel: Travel, each: PlacedRule, rule: model.EnumMap) -> None:
    _enum(travel, each, rule.path, rule.forth, _values_part(each))


def _enum_to_spoke(travel: Travel, each: PlacedRule, rule: model.EnumMap) -> None:
    _enum(travel, each, rule.path, rule.back, _values_part(each))


def _values_part(each: PlacedRule) -> str:
    return "values" if "values" in each.written else "map"


def _wrap(travel: Travel, path: FieldSteps, member: str | None, names: tuple[str, str]) -> None:
    place, inner = names
    shape = travel.find(path, place)
    if shape is None:
        return
    if member is None:
        travel.replace(path, shape.as_list(place))
    else:
        shape.placed = inner
        holder = ChangingSchema({"type": "object"}, place)
        holder.stand_for(shape)
        holder.properties[member] = shape
        travel.replace(path, holder)
        shape.follows = shape.because


def _unwrap(travel: Travel, path: FieldSteps, member: str | None, names: tuple[str, str]) -> None:
    place, inner = names
    shape = travel.find(path, place)
    if shape is None or not travel.report_type(shape, frozenset({"array" if member is None else "object"}), path, place):
        return
    found = shape.child(EACH if member is None else member)
    if found is None:
        message = f"{path_text(path)} has no field {member} in {travel.version}" if member else "the list has no items"
        travel.problem(inner, message, path)
        return
    if member is not None:
        travel.unwrapped += [(*path, name) for name in shape.properties if name != member]
    found.placed = place
    travel.replace(path, found, is_inner=True)


def _wrap_to_hub(travel: Travel, each: PlacedRule, rule: model.Wrap) -> None:
    _wrap(travel, rule.path, rule.member, (each.part("path"), each.part("field")))


def _wrap_to_spoke(travel: Travel, each: PlacedRule, rule: model.Wrap) -> None:
    _unwrap(travel, rule.path, rule.member, (each.part("path"), each.part("field")))


def _unwrap_to_hub(travel: Travel, each: PlacedRule, rule: model.Unwrap) -> None:
    _unwrap(travel, rule.path, rule.member, (each.part("path"), each.part("field")))


def _unwrap_to_spoke(travel: Travel, each: PlacedRule, rule: model.Unwrap) -> None:
    _wrap(travel, rule.path, rule.member, (each.part("path"), each.part("field")))


def _split(travel: Travel, whole: FieldSteps, parts: Sequence[FieldSteps], names: tuple[str, Callable[[int], str]]) -> None:
    shape = travel.take(whole, names[0])
    if shape is None or not travel.report_type(shape, frozenset({"string"}), whole, names[0]):
        return
    for index, steps in enumerate(parts):
        part = _text(shape)
        if index:
            part.follows = ()
        travel.put(steps, part, place=names[1](index))


def _join(travel: Travel, parts: Sequence[FieldSteps], whole: FieldSteps, names: tuple[Callable[[int], str], str]) -> None:
    taken: list[ChangingSchema] = []
    for index, steps in enumerate(parts):
        shape = travel.take(steps, names[0](index))
        if shape is not None:
            travel.report_type(shape, _TEXT_TYPES, steps, names[0](index))
            taken.append(shape)
    if len(taken) == len(parts):
        travel.put(whole, _text(*taken), place=names[1])


def _text(*sources: ChangingSchema) -> ChangingSchema:
    """Return the schema of a text that is there where one of its sources was."""
    shape = ChangingSchema(TEXT)
    shape.because = shape.follows = ()
    for each in sources:
        shape.comes_with(each)
    shape.is_convertible = True
    return shape


def _split_to_hub(travel: Travel, each: PlacedRule, rule: model.Split) -> None:
    _split(travel, rule.source, rule.targets, (each.part("path"), lambda index: f"{each.part('to')}[{index}]"))


def _split_to_spoke(travel: Travel, each: PlacedRule, rule: model.Split) -> None:
    _join(travel, rule.targets, rule.source, (lambda index: f"{each.part('to')}[{index}]", each.part("path")))


def _join_to_hub(travel: Travel, each: PlacedRule, rule: model.Join) -> None:
    _join(travel, rule.sources, rule.target, (lambda index: f"{each.part('paths')}[{index}]", each.part("to")))


def _join_to_spoke(travel: Travel, each: PlacedRule, rule: model.Join) -> None:
    _split(travel, rule.target, rule.sources, (each.part("to"), lambda index: f"{each.part('paths')}[{index}]"))


def _list_to_map(travel: Travel, each: PlacedRule, rule: model.ListToMap | model.MapToList) -> None:
    shape = travel.find(rule.path, each.part("path"))
    if shape is None or not travel.report_type(shape, frozenset({"array"}), rule.path, each.part("path")):
        return
    item = shape.items or ChangingSchema(ANYTHING)
    key = item.child(rule.key)
    if key is None:
        travel.problem(each.part("key"), f"the items of {path_text(rule.path)} have no field {rule.key} in {travel.version}", rule.path)
        return
    travel.report_type(key, frozenset({"string"}), (*rule.path, EACH, rule.key), each.part("key"))
    if rule.value is None:
        item.properties.pop(rule.key, None)
        value: ChangingSchema | None = item
    else:
        value = item.child(rule.value)
        travel.unwrapped += [(*rule.path, EACH, name) for name in item.properties if name not in (rule.key, rule.value)]
    if value is None:
        travel.problem(each.part("value"), f"the items of {path_text(rule.path)} have no field {rule.value} in {travel.version}", rule.path)
        return
    travel.replace(rule.path, value.as_map(each.part("path")))


def _map_to_list(travel: Travel, each: PlacedRule, rule: model.ListToMap | model.MapToList) -> None:
    shape = travel.find(rule.path, each.part("path"))
    if shape is None or not travel.report_type(shape, frozenset({"object"}), rule.path, each.part("path")):
        return
    value = shape.child(EACH)
    if value is None:
        message = f"{path_text(rule.path)} is an object with named fields in {travel.version}, not a map"
        travel.problem(each.part("path"), message, rule.path)
        return
    if rule.value is None:
        if not travel.report_type(value, frozenset({"object"}), (*rule.path, EACH), each.part("path")):
            return
        item = value
    else:
        item = ChangingSchema({"type": "object"}, each.part("path"))
        item.stand_for(value)
        value.placed = each.part("value")
        item.properties[rule.value] = value
    key = item.properties[rule.key] = ChangingSchema(TEXT, each.part("key"))
    key.because = key.follows = item.because
    travel.replace(rule.path, item.as_list(each.part("path")))


def _drop(travel: Travel, each: PlacedRule, rule: model.Drop) -> None:
    travel.take(rule.path, each.part("path"))


def _drop_to_hub(travel: Travel, each: PlacedRule, rule: model.Drop) -> None:
    if rule.side is Side.SPOKE:
        _drop(travel, each, rule)


def _drop_to_spoke(travel: Travel, each: PlacedRule, rule: model.Drop) -> None:
    if rule.side is Side.HUB:
        _drop(travel, each, rule)


def _expressions(travel: Travel, assignments: Sequence[model.Assignment], others: Sequence[model.Assignment], name: str) -> None:
    for each in others:
        travel.mark_computed(each.path)
    for index, each in enumerate(assignments):
        # as if it always had a value, and made no objects around it
        computed = ChangingSchema(ANYTHING)
        computed.because = ()
        travel.put(each.path, computed, place=f"{name}[{index}].path", replaces=True)


def _expressions_to_hub(travel: Travel, each: PlacedRule, rule: model.Expressions) -> None:
    _expressions(travel, rule.to_hub, rule.to_spoke, each.part("toHub"))


def _expressions_to_spoke(travel: Travel, each: PlacedRule, rule: model.Expressions) -> None:
    _expressions(travel, rule.to_spoke, rule.to_hub, each.part("toSpoke"))


_TO_HUB: Final[Mapping[type[Any], Callable[[Travel, PlacedRule, Any], None]]] = {
    model.Move: _move_to_hub,
    model.Copy: _copy_to_hub,
    model.Default: _default_to_hub,
    model.EnumMap: _enum_to_hub,
    model.Wrap: _wrap_to_hub,
    model.Unwrap: _unwrap_to_hub,
    model.Split: _split_to_hub,
    model.Join: _join_to_hub,
    model.ListToMap: _list_to_map,
    model.MapToList: _map_to_list,
    model.Drop: _drop_to_hub,
    model.Expressions: _expressions_to_hub,
}
_TO_SPOKE: Final[Mapping[type[Any], Callable[[Travel, PlacedRule, Any], None]]] = {
    model.Move: _move_to_spoke,
    model.Copy: _copy_to_spoke,
    model.Default: _default_to_spoke,
    model.EnumMap: _enum_to_spoke,
    model.Wrap: _wrap_to_spoke,
    model.Unwrap: _unwrap_to_spoke,
    model.Split: _split_to_spoke,
    model.Join: _join_to_spoke,
    model.ListToMap: _map_to_list,
    model.MapToList: _list_to_map,
    model.Drop: _drop_to_spoke,
    model.Expressions: _expressions_to_spoke,
}
