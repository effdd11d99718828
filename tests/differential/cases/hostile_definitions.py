"""Hostile definitions: deeply nested schemas, forbidden keywords of structural schemas, and invalid patterns, paths and names."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.differential.cases.definition_cases import OPEN, Crd, crd, of_schema, of_spec, version

DEPTHS: Final = (10, 50, 90)
"""Nested schemas; apiext refuses definitions of more than 200 levels, and a schema can take two."""


def chained(levels: int, keyword: str) -> dict[str, Any]:
    """Return a schema nested inside itself."""
    nested = keyword in {"allOf", "anyOf", "oneOf", "not"}
    schema: dict[str, Any] = {"minLength": 1} if nested else {"type": "string"}
    for _ in range(levels):
        if keyword == "properties":
            schema = {"type": "object", "properties": {"a": schema}}
        elif keyword == "items":
            schema = {"type": "array", "items": schema}
        elif keyword == "additionalProperties":
            schema = {"type": "object", "additionalProperties": schema}
        else:
            schema = {keyword: schema if keyword == "not" else [schema]}
    return schema | {"type": "string"} if nested else schema


def _deep() -> Iterator[Crd]:
    for keyword in ("properties", "items", "additionalProperties", "allOf", "anyOf", "oneOf", "not"):
        yield from (of_spec(**chained(levels, keyword)) for levels in DEPTHS)


def _forbidden() -> Iterator[Crd]:
    plain: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
    for name in ("dependencies", "definitions", "patternProperties"):
        values: tuple[Any, ...] = ({}, None, {"a": {"type": "string"}}, {"a": {}}, [], "x", 1)
        yield from (of_spec(**plain, **{name: value}) for value in values)
    lists: tuple[dict[str, Any], ...] = ({"a": ["b"]}, {"a": []}, {"a": None}, {"a": [1]})
    yield from (of_spec(**plain, dependencies=value) for value in lists)
    for name in ("$ref", "$schema", "id"):
        yield from (of_spec(**plain, **{name: value}) for value in ("", "x", "#/definitions/a", None, 1))
    for name in ("additionalItems", "uniqueItems", "additionalProperties"):
        yield from (of_spec(**plain, **{name: value}) for value in (True, False, None, {}, {"type": "string"}, "x"))
    items: Any
    for items in ([], [{}], [{"type": "string"}], {}, None, True, "x", [{"type": "string"}, {"type": "integer"}]):
        yield of_spec(type="array", items=items)


def _bounds() -> Iterator[Crd]:
    value: Any
    for value in (-1, 0, 2**31, 2**63 - 1, 2**63, 2**64, 1.5, 1.0, 1e19, "1", None, [], True):
        for name in ("maxItems", "minItems", "maxLength", "minLength", "maxProperties", "minProperties"):
            yield of_spec(type="string", **{name: value})
        for name in ("maximum", "minimum", "multipleOf"):
            yield of_spec(type="number", **{name: value})
        yield of_spec(type="integer", maximum=value, default=1)


_PATTERNS: Final = (
    *(
        "(a+)+$",
        "(a|a)*b",
        "a{1000}{1000}",
        "a{1001}",
        "((a{100}){100}){100}",
        "(" * 999 + ")" * 999,
        "(" * 1001 + ")" * 1001,
        "[",
        "(",
        ")",
        "*",
        "a**",
    ),
    *("(?=a)", "(?!a)", "(?<=a)", "(?<!a)", r"(a)\1", r"\k<a>", "(?P<a>b)", "(?<a>b)", "(?P<a>b)(?P<a>c)", r"\p{L}", r"\p{Nope}"),
    *(r"\pN", r"\P{Greek}"),
    *(r"[[:alpha:]]", r"[[:nope:]]", r"\x{10FFFF}", r"\x{110000}", r"\xZZ", r"\Q.\E", "(?i)a", "(?z)a", "a{2,1}", "[z-a]", r"\z", r"\Z"),
    *(r"\G", r"\C", "\\", "|"),
    *(
        "|".join(f"w{number}" for number in range(3000)),
        "a?" * 500 + "a" * 500,
        "[" + "a-z" * 3000 + "]",
        *("\u2603+", "\x00", "(?:a){0}", "x{,3}", r"\d{1000}", "^*"),
    ),
)


def _patterns() -> Iterator[Crd]:
    for pattern in _PATTERNS:
        yield of_spec(type="string", pattern=pattern)
        yield of_spec(type="string", pattern=pattern, default="a" * 1000)


_PATHS: Final = (
    *(".", "..", "", "a", "$", "$.a", ".a.", ".a..b", ".a[", ".a[0]", ".a[-1]", ".a[0:2]", ".a[*]", ".*", "..a", ".a['b']", ".a['"),
    *(".a[?(@.b==1)]",),
    *(
        *(".a[?(", "{.a}", ".a}", "{", ".metadata.name", ".spec.a.b.c", ".é", ".a b", ".a\\.b", ".'a'"),
        "." + "a" * 5000,
        ".a" * 500,
        ".a[0" + "]" * 50,
    ),
    *(
        ".a[" * 200,
        ".a[?(@.b)]" * 20,
        *("\x00", ".a\n", ".a[99999999999999999999]", ".a[1,2]", ".a,b", ".-a", ".0", ".a[]", ".range", "{range .a}{end}"),
    ),
)


def _paths() -> Iterator[Crd]:
    for path in _PATHS:
        yield crd("things", version(additionalPrinterColumns=[{"name": "A", "type": "string", "jsonPath": path}]))
        yield crd("things", version(selectableFields=[{"jsonPath": path}]))
        yield crd(
            "things", version(subresources={"scale": {"specReplicasPath": path, "statusReplicasPath": path, "labelSelectorPath": path}})
        )


def _defaults() -> Iterator[Crd]:
    value: Any
    of_object = {"type": "object", "properties": {"a": {"type": "integer", "default": 1}, "b": {"type": "string"}}}
    for value in (
        {},
        {"a": 1},
        {"a": "x"},
        {"c": 1},
        {"a": 1, "c": {"d": 1}},
        {"b": None},
        None,
        [],
        "x",
        1,
        {"metadata": {}},
        {"kind": 1},
    ):
        yield of_spec(**of_object, default=value)
        yield of_spec(**of_object, default=value, nullable=True)
        yield of_spec(type="array", items=of_object, default=[value])
    yield of_spec(type="string", default="x" * 100_000)
    yield of_spec(type="array", items={"type": "integer"}, default=list(range(3000)))
    yield of_spec(type="array", items={"type": "integer"}, default=[1, "a"] * 20, maxItems=3)
    yield of_spec(type="string", default="\ufffd\x00\u2028", maxLength=1)


def _names() -> Iterator[Crd]:
    long, many = "a" * 300, [f"n{number}" for number in range(300)]
    for name in (long, "", ".", "-", "A", "a_b", "é", "a" * 63, "a" * 64, "a.b", "a/b", " "):
        for field in ("plural", "singular", "kind", "listKind"):
            yield crd(names={"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"} | {field: name})
        names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
        yield crd(names=names | {"shortNames": [name, name], "categories": [name, name]})
        yield crd(group=name)
        yield crd("things", version(name))
    yield crd(names={"plural": "things", "kind": "Thing", "shortNames": many, "categories": many})
    yield crd("things", *[version(f"v{number}", storage=number == 1) for number in range(1, 60)])
    yield crd("things", *[version("v1")] * 5)
    columns = [{"name": f"c{number}", "type": "string", "jsonPath": f".spec.c{number}"} for number in range(500)]
    yield crd("things", version(additionalPrinterColumns=columns))
    yield crd("things", version(selectableFields=[{"jsonPath": f".spec.c{number}"} for number in range(100)]))


def _wide() -> Iterator[Crd]:
    yield of_spec(type="object", properties={f"p{number}": {"type": "string", "default": "x"} for number in range(2000)})
    yield of_spec(type="string", enum=[f"v{number}" for number in range(5000)])
    yield of_spec(type="string", enum=["a"] * 1000)
    yield of_spec(type="object", required=[f"r{number}" for number in range(2000)], properties={"a": OPEN})
    yield of_spec(
        **{"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}], "enum": [1, "1", None, [], {}]}
    )
    yield of_schema({"type": "object", "description": "d" * 200_000})


TABLES: Final[Mapping[str, Callable[[], Iterator[Crd]]]] = {
    "deep": _deep,
    "forbidden": _forbidden,
    "bounds": _bounds,
    "patterns": _patterns,
    "paths": _paths,
    "defaults": _defaults,
    "names": _names,
    "wide": _wide,
}
