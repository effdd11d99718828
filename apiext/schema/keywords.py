"""The keywords of a schema (JSONSchemaProps of apiextensions.k8s.io/v1), one row each.

Go types, structural schemas, OpenAPI documents, costs of rules and all Protobuf messages follow these rows. The function of a
keyword in validation/keywords/ says which values it allows and how its errors read; every row with `checks` has exactly one.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Kind = Literal[
    "text", "optional text", "url", "flag", "optional flag", "count", "number", "value", "values", "names", "rules", "docs",
    "schema", "schema or bool", "schema or schemas", "schemas", "named schemas", "definitions", "dependencies",
]  # fmt: skip
"""The type of a keyword, the same in Go and in JSON. A `value` is any JSON value."""
POINTERS: Final[tuple[Kind, ...]] = (
    "optional text", "optional flag", "count", "number", "value", "docs", "schema", "schema or bool", "schema or schemas",
)  # fmt: skip
"""The kinds that are pointers in Go, which tells an empty value from an absent one."""


class Keyword(NamedTuple):
    """A row of the table."""

    name: str
    kind: Kind
    number: int
    """Place in the Go struct and number in its Protobuf message."""
    v2: int = 0
    """Number in gnostic's Schema of OpenAPI v2; 0 for extensions, which have no numbers, and for what v2 lacks."""
    v3: int = 0
    """Number in gnostic's Schema of OpenAPI v3; 0 for extensions."""
    checks: Literal["", "any", "array", "number", "object", "string"] = ""
    """JSON type of the values that value validation checks against the keyword, empty if it ignores it."""
    structural: bool = True
    """Whether structural schemas may have it."""
    nested: bool = True
    """Whether clauses of allOf, anyOf, oneOf and not may have it."""
    bounds_cost: bool = False
    """Whether it bounds the size of values in estimates of the costs of rules."""


# fmt: off
KEYWORDS: Final = (
    # not in structural schemas
    Keyword("id", "text", 1, structural=False),
    Keyword("$schema", "url", 2, structural=False),
    Keyword("$ref", "optional text", 3, v2=1, structural=False),
    Keyword("patternProperties", "named schemas", 31, structural=False),
    Keyword("dependencies", "dependencies", 32, structural=False),
    Keyword("additionalItems", "schema or bool", 33, structural=False),
    Keyword("definitions", "definitions", 34, structural=False),
    # values of any type
    Keyword("description", "text", 4, v2=4, v3=34, nested=False),
    Keyword("title", "text", 7, v2=3, v3=9, nested=False),
    Keyword("type", "text", 5, v2=22, v3=25, checks="any", nested=False),
    Keyword("format", "text", 6, v2=2, v3=35, checks="any"),
    Keyword("nullable", "flag", 37, v3=1, checks="any", nested=False),
    # numbers
    Keyword("maximum", "number", 9, v2=7, v3=11, checks="number"),
    Keyword("exclusiveMaximum", "flag", 10, v2=8, v3=12, checks="number"),
    Keyword("minimum", "number", 11, v2=9, v3=13, checks="number"),
    Keyword("exclusiveMinimum", "flag", 12, v2=10, v3=14, checks="number"),
    Keyword("multipleOf", "number", 19, v2=6, v3=10, checks="number"),
    # strings
    Keyword("pattern", "text", 15, v2=13, v3=17, checks="string"),
    Keyword("maxLength", "count", 13, v2=11, v3=15, checks="string", bounds_cost=True),
    Keyword("minLength", "count", 14, v2=12, v3=16, checks="string"),
    # arrays
    Keyword("items", "schema or schemas", 24, v2=23, v3=30, checks="array"),
    Keyword("maxItems", "count", 16, v2=14, v3=18, checks="array", bounds_cost=True),
    Keyword("minItems", "count", 17, v2=15, v3=19, checks="array"),
    Keyword("uniqueItems", "flag", 18, v2=16, v3=20, checks="array"),
    # objects
    Keyword("properties", "named schemas", 29, v2=25, v3=31, checks="object"),
    Keyword("additionalProperties", "schema or bool", 30, v2=21, v3=32, checks="object"),
    Keyword("maxProperties", "count", 21, v2=17, v3=21, checks="object", bounds_cost=True),
    Keyword("minProperties", "count", 22, v2=18, v3=22, checks="object"),
    Keyword("required", "names", 23, v2=19, v3=23, checks="object"),
    # values of any type, beside the type
    Keyword("enum", "values", 20, v2=20, v3=24, checks="any"),
    Keyword("allOf", "schemas", 25, v3=26, checks="any"),
    Keyword("anyOf", "schemas", 27, v3=28, checks="any"),
    Keyword("oneOf", "schemas", 26, v3=27, checks="any"),
    Keyword("not", "schema", 28, v3=29, checks="any"),
    Keyword("default", "value", 8, v2=5, v3=33, nested=False),
    Keyword("example", "value", 36, v2=30, v3=7),
    Keyword("externalDocs", "docs", 35, v2=29, v3=6),
    # extensions
    Keyword("x-kubernetes-preserve-unknown-fields", "optional flag", 38, nested=False),
    Keyword("x-kubernetes-embedded-resource", "flag", 39, nested=False),
    Keyword("x-kubernetes-int-or-string", "flag", 40, checks="any", nested=False),
    Keyword("x-kubernetes-list-type", "optional text", 42, nested=False),
    Keyword("x-kubernetes-map-type", "optional text", 43, nested=False),
    Keyword("x-kubernetes-list-map-keys", "names", 41, nested=False),
    Keyword("x-kubernetes-validations", "rules", 44, nested=False),
)
# fmt: on
"""All keywords. OpenAPI documents have keywords of like kinds in this order."""


def of_kind(*kinds: Kind, structural: bool = False) -> tuple[str, ...]:
    """Return the names of the keywords of some kinds, or of those that structural schemas may have, in the order of the table."""
    return tuple(each.name for each in KEYWORDS if each.kind in kinds and (each.structural or not structural))


JUNCTORS: Final = of_kind("schemas")
"""Keywords with a list of schemas: allOf, anyOf and oneOf."""
SCHEMA_MAPS: Final = of_kind("named schemas", "definitions", "dependencies")
"""Keywords with schemas by name."""
UNCHECKED: Final = frozenset(each.name for each in KEYWORDS if not each.checks)
"""Keywords that value validation ignores."""
SIZE_LIMITS: Final = {each.checks: each.name for each in KEYWORDS if each.bounds_cost}
"""The keyword that bounds the size of the values of a JSON type."""
