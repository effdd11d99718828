"""Parses Conversion objects: from a document to rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding.json_values import identity
from apiext.base.meta.field import Path, duplicate, forbidden, invalid, required
from apiext.resources.conversion.rules import model
from apiext.resources.conversion.rules.interface import InvalidConversionError
from apiext.resources.conversion.rules.model import EACH
from apiext.resources.conversion.rules.parsing.document_schema import shape_errors
from apiext.resources.conversion.rules.paths import InvalidPathError, parse_path, path_text, prefix_length, require_changeable

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from apiext.base.meta.field import FieldError
    from apiext.resources.conversion.rules.model import FieldSteps

_SPOKES: Final = Path("spec", "spokes")


Pairs = tuple[tuple[Any, Any], ...]
"""Values with those that replace them."""


_NOTHING: FieldSteps = ("",)
"""In place of an invalid path."""


class PathParser:
    """Parses paths. An invalid one adds an error."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def value(self, text: str, at: Path, *, texts: bool = False) -> FieldSteps:
        """Return the path of a value: a field, or every item or value of a list or map. `texts` allows labels and annotations."""
        try:
            steps = parse_path(text)
            if not texts and steps[0] == "metadata":
                raise InvalidPathError("must not lead to metadata: labels and annotations stay texts")
        except InvalidPathError as error:
            self.errors.append(invalid(at, text, str(error)))
            return _NOTHING
        return steps

    def field(self, text: str, at: Path) -> FieldSteps:
        """Return the path of a field, which does not end with [*]."""
        steps = self.value(text, at, texts=True)
        if steps[-1] == EACH:
            self.errors.append(invalid(at, text, "must end with the name of a field"))
            return _NOTHING
        return steps

    def single(self, text: str, at: Path) -> FieldSteps:
        """Return the path of one field, without [*]."""
        steps = self.field(text, at)
        if EACH in steps:
            self.errors.append(invalid(at, text, "must not contain [*]: an expression sets one field"))
        return steps

    def renamed(self, source: FieldSteps, name: str, at: Path) -> FieldSteps:
        """Return the path of a field with another name."""
        target = (*source[:-1], name)
        try:
            require_changeable(target)
        except InvalidPathError as error:
            self.errors.append(invalid(at, name, str(error)))
        if name in {EACH, source[-1]}:
            self.errors.append(invalid(at, name, "must be another name"))
        return target

    def related(self, paths: Sequence[tuple[str, Path]]) -> list[FieldSteps]:
        """Return the different paths of fields of one object, or of each item of one list or map."""
        found = [self.field(text, at) for text, at in paths]
        first = found[0]
        shared = first[: prefix_length(first)]
        for number, (steps, (text, at)) in enumerate(zip(found, paths, strict=True)):
            if steps is _NOTHING or first is _NOTHING or not number:
                continue
            if steps[: prefix_length(steps)] != shared:
                expected = f"begin with {path_text(shared)}" if shared else "not contain [*]"
                self.errors.append(invalid(at, text, f"must {expected}, as {paths[0][0]} does: fields move within one item"))
            elif steps in found[:number]:
                self.errors.append(invalid(at, text, "is named twice"))
        return found


def parse_enum(body: Any, at: Path, errors: list[FieldError]) -> tuple[Pairs, Pairs]:
    """Return the values of the spoke with those of the hub, and the other way round. Add errors to the list."""
    forth = _pairs(body, "map", "values", at, errors)
    extra = _pairs(body, "back", "backValues", at, errors)
    if not forth and not extra:
        errors.append(required(at.child("map"), "or `values`, `back` or `backValues`"))
    return forth, extra + _inverse(forth, extra, at, errors)


def _pairs(body: Any, texts: str, values: str, at: Path, errors: list[FieldError]) -> Pairs:
    if texts in body and values in body:
        errors.append(forbidden(at.child(values), f"beside `{texts}`"))
    if texts in body:
        return tuple(body[texts].items())
    seen: set[Hashable] = set()
    found = []
    for index, pair in enumerate(body.get(values) or ()):
        if identity(pair["from"]) in seen:
            errors.append(duplicate(at.child(values).index(index).child("from"), pair["from"]))
        seen.add(identity(pair["from"]))
        found.append((pair["from"], pair["to"]))
    return tuple(found)


def _inverse(forth: Pairs, extra: Pairs, at: Path, errors: list[FieldError]) -> Pairs:
    """Return the inverse of pairs, without the values that the author maps back."""
    said = {identity(value) for value, _ in extra}
    inverse: dict[Hashable, tuple[Any, Any]] = {}
    for source, target in forth:
        key = identity(target)
        if key in said:
            continue
        if key in inverse:
            errors.append(required(at.child("back"), f"several values become {target!r}: map it back to one of them"))
            continue
        inverse[key] = (target, source)
    return tuple(inverse.values())


def parse_rules(document: object) -> model.ConversionRules:
    """Return the rules of a Conversion object.

    Raises:
        InvalidConversionError: it is invalid by itself. Whether it fits the versions of its CRD is not checked.
    """
    if errors := shape_errors(document):
        raise InvalidConversionError(errors)
    found: Any = document
    spec = found["spec"]
    parser = _RuleParser()
    spokes = tuple(
        model.Spoke(spoke["version"], parser.rules(spoke.get("rules") or (), _SPOKES.index(index).child("rules")))
        for index, spoke in enumerate(spec.get("spokes") or ())
    )
    errors = [*parser.errors, *_version_errors(spec["hub"], spokes)]
    if errors:
        raise InvalidConversionError(errors)
    metadata = found["metadata"]
    return model.ConversionRules(metadata["name"], spec["hub"], spokes, metadata.get("generation") or 0, spec)


def _version_errors(hub: str, spokes: tuple[model.Spoke, ...]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, spoke in enumerate(spokes):
        path = _SPOKES.index(index).child("version")
        if spoke.version == hub:
            errors.append(forbidden(path, "is the hub"))
        elif spoke.version in seen:
            errors.append(duplicate(path, spoke.version))
        seen.add(spoke.version)
    return errors


class _RuleParser:
    """Parses rules, and collects the errors of their paths."""

    def __init__(self) -> None:
        self._paths = PathParser()
        self._kinds: Mapping[str, Callable[[Any, Path], model.Rule]] = {
            "rename": self._rename,
            "move": self._move,
            "copy": self._copy,
            "default": self._default,
            "enum": self._enum,
            "wrap": self._wrap,
            "unwrap": self._unwrap,
            "split": self._split,
            "join": self._join,
            "listToMap": self._list_to_map,
            "mapToList": self._map_to_list,
            "drop": self._drop,
            "expression": self._expression,
        }

    @property
    def errors(self) -> list[FieldError]:
        """The errors so far."""
        return self._paths.errors

    def rules(self, rules: Sequence[dict[str, Any]], path: Path) -> tuple[model.Rule, ...]:
        """Return the rules of a spoke, whose shape is known to be right."""
        return tuple(
            self._kinds[kind](body, path.index(index).child(kind)) for index, rule in enumerate(rules) for kind, body in rule.items()
        )

    def _rename(self, body: Any, at: Path) -> model.Move:
        source = self._paths.field(body["path"], at.child("path"))
        return model.Move(source, self._paths.renamed(source, body["to"], at.child("to")))

    def _move(self, body: Any, at: Path) -> model.Move:
        return model.Move(*self._paths.related(((body["from"], at.child("from")), (body["to"], at.child("to")))))

    def _copy(self, body: Any, at: Path) -> model.Copy:
        return model.Copy(*self._paths.related(((body["from"], at.child("from")), (body["to"], at.child("to")))))

    def _default(self, body: Any, at: Path) -> model.Default:
        return model.Default(self._paths.field(body["path"], at.child("path")), body["value"], model.Side(body.get("in", "hub")))

    def _enum(self, body: Any, at: Path) -> model.EnumMap:
        forth, back = parse_enum(body, at, self.errors)
        return model.EnumMap(self._paths.value(body["path"], at.child("path"), texts=True), forth, back)

    def _wrap(self, body: Any, at: Path) -> model.Wrap:
        return model.Wrap(self._paths.value(body["path"], at.child("path")), body.get("field"))

    def _unwrap(self, body: Any, at: Path) -> model.Unwrap:
        return model.Unwrap(self._paths.value(body["path"], at.child("path")), body.get("field"))

    def _split(self, body: Any, at: Path) -> model.Split:
        targets = [(path, at.child("to").index(index)) for index, path in enumerate(body["to"])]
        source, *parts = self._paths.related(((body["path"], at.child("path")), *targets))
        return model.Split(source, tuple(parts), body["separator"], last=body.get("last", False))

    def _join(self, body: Any, at: Path) -> model.Join:
        sources = [(path, at.child("paths").index(index)) for index, path in enumerate(body["paths"])]
        target, *parts = self._paths.related(((body["to"], at.child("to")), *sources))
        return model.Join(tuple(parts), target, body["separator"], last=body.get("last", False))

    def _list_to_map(self, body: Any, at: Path) -> model.ListToMap:
        return model.ListToMap(*self._keyed(body, at))

    def _map_to_list(self, body: Any, at: Path) -> model.MapToList:
        return model.MapToList(*self._keyed(body, at))

    def _keyed(self, body: Any, at: Path) -> tuple[model.FieldSteps, str, str | None]:
        if body["key"] == body.get("value"):
            self.errors.append(duplicate(at.child("value"), body["value"]))
        return self._paths.value(body["path"], at.child("path")), body["key"], body.get("value")

    def _drop(self, body: Any, at: Path) -> model.Drop:
        return model.Drop(self._paths.field(body["path"], at.child("path")), body["reason"], model.Side(body.get("in", "spoke")))

    def _expression(self, body: Any, at: Path) -> model.Expressions:
        return model.Expressions(*(self._assignments(body.get(way) or (), at.child(way)) for way in ("toHub", "toSpoke")))

    def _assignments(self, assignments: Any, at: Path) -> tuple[model.Assignment, ...]:
        return tuple(
            model.Assignment(self._paths.single(each["path"], at.index(index).child("path")), each["value"])
            for index, each in enumerate(assignments)
        )
