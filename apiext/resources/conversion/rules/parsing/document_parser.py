"""Parses Conversion objects: from a document to rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.field import Path, duplicate, forbidden
from apiext.resources.conversion.rules import model
from apiext.resources.conversion.rules.errors import InvalidConversionError
from apiext.resources.conversion.rules.parsing.document_schema import shape_errors
from apiext.resources.conversion.rules.parsing.enum_values import parse_enum
from apiext.resources.conversion.rules.parsing.path_parser import PathParser

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from apiext.base.meta.field import FieldError

_SPOKES: Final = Path("spec", "spokes")


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
