"""Objects made up from a schema, to try rules on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_values
from apiext.resources.conversion.rules import model
from apiext.resources.conversion.rules.finish import named_paths
from apiext.resources.conversion.rules.model import EACH
from apiext.schema.compiled import CompiledSchema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.rules.check.choices import Choices
    from apiext.resources.conversion.rules.model import ConversionRules
    from apiext.schema.model import Structural

_TEXTS: Final = ("a", "b", "", "1", "07", "10s", "a-b", "A b", "é", "x.y/z", "-")
_FORMATTED: Final[Mapping[str, Sequence[str]]] = {
    "date-time": ("2026-01-02T03:04:05Z", "1999-12-31T23:59:59Z"),
    "date": ("2026-01-02",),
    "duration": ("1s", "1h30m"),
    "ipv4": ("10.0.0.1",),
    "ipv6": ("::1",),
    "cidr": ("10.0.0.0/8",),
    "uri": ("https://a.example/b",),
    "email": ("a@b.example",),
    "hostname": ("a.example",),
    "byte": ("YQ==",),
    "uuid": ("123e4567-e89b-42d3-a456-426614174000",),
}
_CANDIDATES: Final = (
    *(
        "a",
        "ab",
        "abc",
        "a-b",
        "a.example",
        "A",
        "Ab",
        "a/b",
        "a.example/b",
        "1",
        "10",
        "0",
        "1.5",
        "100m",
        "1Gi",
        "10%",
        "1s",
        "1h",
        "5m0s",
    ),
    *("10.0.0.1", "10.0.0.0/8", "::1", "https://a.example", "http://a.example/b", "a@b.example", "*.a.example", "v1", "v1.2.3", "a:b"),
    *("/a", "a=b", "true", "2026-01-02T03:04:05Z", "sha256:" + "a" * 64, "a" * 32, "a" * 40, "a" * 64, "0" * 12),
)
"""Texts of which one often matches a pattern."""
_TEXT_LIMITS: Final = ("type", "minLength", "maxLength", "pattern", "format")
_FREE: Final[Sequence[Any]] = ("a", 1, True, {}, {"a": "b"}, ["a", 1], {"a": {"b": [1]}})
_SELECTED: Final = re.compile(r"\.\??([A-Za-z_]\w*)")
"""A field or function in an expression."""
_KEYS: Final = ("a", "b", "c.d/e", "f-1")
_NODES: Final = 60
"""Values of one object before only required fields are added."""
_OPTIONAL: Final = 5
"""Optional fields of an object apart from those that rules name."""
_ITEMS: Final = 3
_DEPTH: Final = 24
_ATTEMPTS: Final = 6


class UnlikelyValueError(Exception):
    """No value was found that the schema allows."""


class Samples:
    """Makes valid objects of one version. Fields that rules name occur often."""

    def __init__(self, schema: CompiledSchema, rules: ConversionRules, version: str, *, kind: str, namespaced: bool = True) -> None:
        self._schema = schema
        self._named = _named_fields(rules)
        self._texts = [*_separated(rules), *_TEXTS]
        self._patterns = _LimitedTexts(self._texts)
        self._labels = _metadata_keys(rules, "labels")
        self._annotations = _metadata_keys(rules, "annotations")
        self._identity = {"apiVersion": f"{rules.name.partition('.')[2]}/{version}", "kind": kind}
        self._metadata = {"name": "sample"} | ({"namespace": "default"} if namespaced else {})

    def make(self, choices: Choices) -> Object | None:
        """Return an object as a server decodes it, None if the choices lead to an invalid one."""
        try:
            made = _Maker(choices, self._named, self._patterns).root(self._schema.structural)
        except UnlikelyValueError:
            return None
        obj = self._identity | {"metadata": self._metadata | self._texts_of_metadata(choices)} | made
        self._schema.coerce(obj, defaults=True)
        if self._schema.validate_values(obj) or self._schema.validate_lists(obj) or self._schema.validate_resources(obj):
            return None
        return obj

    def _texts_of_metadata(self, choices: Choices) -> Object:
        found: Object = {}
        for name, keys in (("labels", self._labels), ("annotations", self._annotations)):
            chosen = choices.some(keys, len(keys))
            if chosen:
                found[name] = {key: choices.pick(self._texts) for key in chosen}
        return found


class _Maker:
    """Makes one object."""

    def __init__(self, choices: Choices, named: frozenset[str], texts: _LimitedTexts) -> None:
        self._choices = choices
        self._named = named
        self._texts = texts
        self._left = _NODES

    def root(self, schema: Structural) -> Object:
        """Return the fields of an object other than its identity."""
        names = [name for name in schema.properties if name not in ("apiVersion", "kind", "metadata")]
        found = {name: self.value(schema.properties[name], 1) for name in names if name == "spec" or self._choices.flag()}
        if schema.preserve:
            found["extra"] = self._choices.pick(_FREE)
        return found

    def value(self, schema: Structural, depth: int) -> Any:
        """Return a value. Raise UnlikelyValueError."""
        self._left -= 1
        if depth > _DEPTH:
            raise UnlikelyValueError
        raw = schema.raw
        if schema.nullable and self._choices.integer(0, 7) == 7:
            return None
        if raw.get("enum"):
            return json_values.copy(self._choices.pick(raw["enum"]))
        if raw.get("x-kubernetes-int-or-string") is True:
            return self._text(raw) if self._choices.flag() else self._integer(raw)
        kind = raw.get("type")
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._list(schema, depth)
        if kind == "string":
            return self._text(raw)
        if kind == "integer":
            return self._integer(raw)
        if kind == "number":
            return self._integer(raw) + (0.5 if "multipleOf" not in raw and "maximum" not in raw and self._choices.flag() else 0)
        return self._choices.flag() if kind == "boolean" else json_values.copy(self._choices.pick(_FREE))

    def _object(self, schema: Structural, depth: int) -> Object:
        required = schema.raw.get("required") or ()
        names = [name for name in schema.properties if name not in required]
        chosen = {name for name in names if name in self._named and self._choices.integer(0, 3)}
        if self._left > 0:
            chosen.update(self._choices.some([name for name in names if name not in self._named], _OPTIONAL))
        found = self._embedded() if schema.embedded else {}
        for name in schema.properties:
            if name in found:
                continue
            if name in required:
                found[name] = self.value(schema.properties[name], depth + 1)
            elif name in chosen:
                self._try(found, name, schema.properties[name], depth)
        if schema.additional is not None:
            least = schema.raw.get("minProperties") or 0
            keys = self._choices.some(_KEYS, _ITEMS)
            for key in [*keys, *(name for name in _KEYS if name not in keys)][: max(least, len(keys))]:
                self._try(found, key, schema.additional, depth)
        if schema.preserve and self._choices.flag():
            found[self._choices.pick(_KEYS)] = json_values.copy(self._choices.pick(_FREE))
        self._fill(found, schema, names, depth)
        return found

    def _fill(self, found: Object, schema: Structural, names: Sequence[str], depth: int) -> None:
        """Add fields up to the least number that the schema wants. Raise UnlikelyValueError if there are too few."""
        least = schema.raw.get("minProperties") or 0
        for name in names:
            if len(found) < least and name not in found:
                self._try(found, name, schema.properties[name], depth)
        if len(found) < least:
            raise UnlikelyValueError

    def _try(self, found: Object, name: str, schema: Structural, depth: int) -> None:
        """Set an optional field if there is a value for it."""
        try:
            found[name] = self.value(schema, depth + 1)
        except UnlikelyValueError:
            return

    def _embedded(self) -> Object:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": self._choices.pick(("a", "b"))}}

    def _list(self, schema: Structural, depth: int) -> list[Any]:
        raw, items = schema.raw, schema.items
        least, most = raw.get("minItems") or 0, raw.get("maxItems")
        size = self._choices.integer(least, max(least, min(_ITEMS if most is None else most, _ITEMS if self._left > 0 else 0)))
        if items is None:
            return []
        found: list[Any] = []
        for _ in range(size * 2):
            if len(found) == size:
                break
            item = self.value(items, depth + 1)
            if not self._is_repeated(found, item, schema):
                found.append(item)
        return found

    def _is_repeated(self, found: list[Any], item: Any, schema: Structural) -> bool:
        if schema.list_type == "set" or schema.raw.get("uniqueItems"):
            return any(json_values.equal(item, other) for other in found)
        if schema.list_type != "map" or not isinstance(item, dict):
            return False
        return any(all(json_values.equal(item.get(key), other.get(key)) for key in schema.list_map_keys) for other in found)

    def _integer(self, raw: Mapping[str, Any]) -> int:
        least, most = raw.get("minimum"), raw.get("maximum")
        low = int(least) + bool(raw.get("exclusiveMinimum")) if least is not None else -2 if most is None else min(-2, int(most))
        high = int(most) - bool(raw.get("exclusiveMaximum")) if most is not None else max(low, 0) + 100
        found = self._choices.integer(low, max(low, min(high, low + 1000)))
        step = raw.get("multipleOf")
        return int(-(-found // step) * step) if step else found

    def _text(self, raw: Mapping[str, Any]) -> str:
        known = _FORMATTED.get(raw.get("format") or "")
        if known:
            return self._choices.pick(known)
        least, most = raw.get("minLength") or 0, raw.get("maxLength")
        if raw.get("pattern") is not None:
            return self._matching(raw)
        text = self._choices.pick(self._texts.texts)
        return (text + "x" * (least - len(text)))[:most]

    def _matching(self, raw: Mapping[str, Any]) -> str:
        schema, fitting = self._texts.limited(raw)
        if fitting:
            return self._choices.pick(fitting)
        for _ in range(_ATTEMPTS):
            text = self._choices.matching(raw["pattern"])
            if text is not None and not schema.validate_values({"text": text}):
                return text
        raise UnlikelyValueError


class _LimitedTexts:
    """Finds the texts that a schema with a pattern allows, once for each pattern."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self._known: dict[tuple[Any, ...], tuple[CompiledSchema, Sequence[str]]] = {}

    def limited(self, raw: Mapping[str, Any]) -> tuple[CompiledSchema, Sequence[str]]:
        """Return the schema of an object with the text, and the known texts that it allows."""
        key = tuple(raw.get(name) for name in _TEXT_LIMITS)
        if key not in self._known:
            limits = {name: raw[name] for name in _TEXT_LIMITS if name in raw}
            schema = CompiledSchema({"type": "object", "properties": {"text": limits}})
            self._known[key] = schema, [text for text in (*self.texts, *_CANDIDATES) if not schema.validate_values({"text": text})]
        return self._known[key]


def _paths(rules: ConversionRules) -> Iterable[model.FieldSteps]:
    """Yield all paths that rules name."""
    for spoke in rules.spokes:
        for rule in spoke.rules:
            yield from named_paths(rule)


def _named_fields(rules: ConversionRules) -> frozenset[str]:
    written = {step for path in _paths(rules) for step in path if step != EACH}
    return frozenset(written | {name for text in _expressions(rules) for name in _SELECTED.findall(text)})


def _expressions(rules: ConversionRules) -> Iterable[str]:
    """Yield the texts of all expressions."""
    for spoke in rules.spokes:
        for rule in spoke.rules:
            if isinstance(rule, model.Expressions):
                yield from (each.expression for each in (*rule.to_hub, *rule.to_spoke))


def _separated(rules: ConversionRules) -> list[str]:
    """Return texts with the separators of rules: none, one, several, at the ends."""
    found: dict[str, None] = {}
    for spoke in rules.spokes:
        for rule in spoke.rules:
            if isinstance(rule, model.Split | model.Join):
                between = rule.separator
                found |= dict.fromkeys((f"a{between}1", f"a{between}b{between}c", f"{between}a", f"a{between}", between))
    return [*found]


def _metadata_keys(rules: ConversionRules, name: str) -> list[str]:
    return [*dict.fromkeys(path[2] for path in _paths(rules) if len(path) == 3 and path[:2] == ("metadata", name))]
