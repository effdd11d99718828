"""Definitions with rules that kube-apiserver refuses, one mistake each."""

from typing import Any, Final

Schema = dict[str, Any]
STRING: Final[Schema] = {"type": "string", "maxLength": 64}
INTEGER: Final[Schema] = {"type": "integer"}


def ruled(schema: Schema, *rules: dict[str, Any] | str) -> Schema:
    """Return a schema with rules; a text is a rule without other members."""
    return schema | {"x-kubernetes-validations": [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]}


def struct(**properties: Schema) -> Schema:
    """Return the schema of an object."""
    return {"type": "object", "properties": properties}


def several(items: Schema, **more: Any) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items, **more}


def mapping(values: Schema, **more: Any) -> Schema:
    """Return the schema of a map."""
    return {"type": "object", "additionalProperties": values, **more}


KEYED: Final = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
NAMED: Final = struct(name=STRING, count=INTEGER) | {"required": ["name"]}

_SPECS: dict[str, Schema] = {
    "several lines": ruled(struct(a=INTEGER), {"rule": "self.a\n  > 'x'", "message": "m"}),
    "unknown name": ruled(struct(a=INTEGER), "other.a > 1"),
    "unknown field": ruled(struct(a=INTEGER), "self.b > 1"),
    "unknown function": ruled(struct(a=INTEGER), "self.a.frobnicate()"),
    "wrong types": ruled(struct(a=INTEGER), "self.a > 'x'", "self.a + 1.5 > 1.0", "self.a"),
    "no bool": ruled(struct(a=INTEGER, b={"x-kubernetes-int-or-string": True}), "self.a", "self.b", "'x'"),
    "broken regular expression": ruled(STRING, "self.matches('(')"),
    "broken literals": ruled(STRING, "timestamp('x') < timestamp('y')", "duration('1y') > duration('1s')"),
    "mixed list": ruled(STRING, "self in ['a', 1]"),
    "unknown libraries": ruled(struct(a=INTEGER), "math.abs(self.a) > 1", "cel.bind(x, self.a, x > 1)", "base64.encode(b'x') == ''"),
    "message without text": ruled(struct(a=INTEGER), {"rule": "self.a > 1", "messageExpression": "self.a"}),
    "broken message": ruled(struct(a=INTEGER), {"rule": "self.a > 1", "messageExpression": "'a' + self.b"}),
    "broken rule and message": ruled(struct(a=INTEGER), {"rule": "self.c > 1", "messageExpression": "'a' + self.b"}),
    "unknown reason": ruled(struct(a=INTEGER), {"rule": "self.a > 1", "reason": "FieldValueOdd"}),
    "unknown path": ruled(struct(a=INTEGER), {"rule": "self.a > 1", "fieldPath": ".b"}),
    "path of a list": ruled(struct(a=several(INTEGER)), {"rule": "self.a[0] > 1", "fieldPath": ".a[0]"}),
    "broken path": ruled(struct(a=INTEGER), {"rule": "self.a > 1", "fieldPath": "a..b"}),
    "transition in a list": struct(a=several(ruled(NAMED, "self == oldSelf"), maxItems=3)),
    "transition in a set": struct(a=several(ruled(STRING, "self == oldSelf"), maxItems=3) | {"x-kubernetes-list-type": "set"}),
    "transition in a keyed list": struct(a=several(ruled(NAMED, "self.count >= oldSelf.count"), maxItems=3, **KEYED)),
    "transition below a list": struct(a=several(struct(b=several(ruled(NAMED, "self == oldSelf"), maxItems=3, **KEYED)), maxItems=3)),
    "optional without a transition": ruled(struct(a=INTEGER), {"rule": "self.a > 1", "optionalOldSelf": True}),
    "false optional": ruled(struct(a=INTEGER), {"rule": "self.a > 1", "optionalOldSelf": False}),
    "optional": ruled(struct(a=INTEGER), {"rule": "oldSelf.hasValue() || self.a > 1", "optionalOldSelf": True}),
    "not optional": ruled(struct(a=INTEGER), {"rule": "oldSelf.hasValue()"}),
    "costly rule": struct(a=several(ruled({"type": "string"}, "self.contains('x')"))),
    "costly loop": ruled(struct(a=several(several(INTEGER))), "self.a.all(x, x.all(y, self.a.all(z, z.all(w, w == y))))"),
    "slightly costly": ruled(several(several({"type": "integer"}, maxItems=3100), maxItems=900), "self.all(x, x.all(y, y > 1))"),
    "costly in total": struct(
        **{f"p{number}": ruled(several(INTEGER, maxItems=1200 - 10 * number), "self.all(x, self.all(y, x < y))") for number in range(14)}
    ),
    "costly message": ruled(
        struct(a=several(several({"type": "string"}))),
        {"rule": "true", "messageExpression": "self.a.map(x, x.map(y, y + 'x').join(',')).join(';')"},
    ),
    "broken default": ruled(struct(a=INTEGER), "self.a > 1") | {"default": {"a": 1}},
    "default with a broken rule": ruled(struct(a=INTEGER), "self.b > 1") | {"default": {"a": 1}},
    "default with a transition": ruled(struct(a=INTEGER), {"rule": "oldSelf.hasValue()", "optionalOldSelf": True}) | {"default": {"a": 1}},
    "good default": ruled(struct(a=INTEGER), "self.a > 1") | {"default": {"a": 2}},
    "escaped names": ruled(
        struct(**{"a-b": INTEGER, "c.d": INTEGER, "e/f": INTEGER, "g__h": INTEGER, "namespace": INTEGER, "true": INTEGER, "$x": INTEGER}),
        "self.a__dash__b + self.c__dot__d + self.e__slash__f + self.g__underscores__h + self.__namespace__ + self.__true__ > 1",
        "self.x > 1",
    ),
    "unescaped name": struct(**{"$x": ruled(struct(a=INTEGER), "self.a > 1", "self.b > 1")}),
    "preserved fields": ruled({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "self.a > 1"),
    "embedded": ruled(
        struct() | {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        "self.metadata.name.startsWith('a') && self.kind != '' && self.apiVersion != ''",
        "self.metadata.namespace == ''",
    ),
    "rule on a list of unknown items": struct(a=ruled(several({"x-kubernetes-preserve-unknown-fields": True}), "self.size() > 1")),
    "rule on an unknown type": struct(a=ruled({"x-kubernetes-preserve-unknown-fields": True}, "true")),
    "rule beside a schema error": ruled(struct(a=INTEGER | {"uniqueItems": True}), "self.b > 1"),
    "rule in allOf": struct(a=INTEGER) | {"allOf": [ruled({}, "self.a > 1")]},
    "empty rules": ruled(struct(a=INTEGER), "", " ", {"rule": "true", "message": " "}, {"rule": "true", "messageExpression": " "}),
}
SCHEMAS: Final = {name: struct(spec=schema) for name, schema in _SPECS.items()} | {
    "metadata": ruled(struct(), "self.metadata.name == 'a'", "self.metadata.labels.size() > 0", "self.kind == self.apiVersion"),
    "metadata schema": ruled(struct(metadata=ruled(struct(name=STRING), "self.name != 'x'")), "self.metadata.name.size() > 1"),
    "root": ruled(struct(spec=struct(a=INTEGER)), "self.spec.a > 1", "self.status.a > 1"),
}
