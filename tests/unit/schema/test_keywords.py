"""The table of keywords and all that follow it agree."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from apiext.api.openapi import schemas, v2_protobuf, v3_protobuf
from apiext.api.openapi.builtin_definitions import builtin_types
from apiext.base.meta import field
from apiext.resources.definitions import types
from apiext.resources.definitions.validation.openapi import openapi_errors
from apiext.resources.definitions.validation.options import CREATE
from apiext.resources.definitions.validation.schemas import nodes
from apiext.resources.registry.protobuf.customresourcedefinition import SCHEMA_WIRE
from apiext.schema import keywords
from apiext.schema.field_path import DottedPath
from apiext.schema.keywords import KEYWORDS, Keyword, Kind
from apiext.schema.model import unsupported_field
from apiext.schema.validation.checker import compile_check
from apiext.schema.validation.keywords.registry import FUNCTIONS, FUNCTIONS_OF, KINDS
from apiext.schema.validation.spec import Spec

PACKAGE: Final = Path(keywords.__file__).parents[1]
NAMES: Final = {each.name for each in KEYWORDS}
DOCUMENT: Final = builtin_types()["io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"]["properties"]
JSON_TYPES: Final[Mapping[Kind, str]] = {
    **dict.fromkeys(("text", "optional text", "url"), "string"),
    **dict.fromkeys(("flag", "optional flag"), "boolean"),
    "count": "integer",
    "number": "number",
    **dict.fromkeys(("values", "names", "rules", "schemas"), "array"),
    **dict.fromkeys(("named schemas", "definitions", "dependencies"), "object"),
}
ROOMS: Final = ("schema", "resources/definitions", "api/openapi", "resources/managedfields", "resources/registry/protobuf")
READERS: Final = frozenset({"raw", "props", "node", "nested", "clause", "schema"})
"""Names of variables with a schema, in these rooms."""
NO_KEYWORDS: Final = {"x-kubernetes-group-version-kind", "x-kubernetes-selectable-fields", "x-kubernetes-action"}
"""Extensions of OpenAPI documents."""
EXAMPLES: Final[dict[str, tuple[Any, Any, Any]]] = {
    "type": ("string", "a", 1),
    "format": ("date", "2026-11-25", "today"),
    "nullable": (True, None, 1),
    "maximum": (3, 3, 4),
    "exclusiveMaximum": (True, 2, 3),
    "minimum": (3, 3, 2),
    "exclusiveMinimum": (True, 4, 3),
    "multipleOf": (3, 6, 7),
    "pattern": ("^a$", "a", "b"),
    "maxLength": (2, "ab", "abc"),
    "minLength": (2, "ab", "a"),
    "items": ({"type": "string"}, ["a"], [1]),
    "maxItems": (1, [1], [1, 2]),
    "minItems": (1, [1], []),
    "uniqueItems": (True, [1, 2], [1, 1]),
    "properties": ({"a": {"type": "string"}}, {"a": "b"}, {"a": 1}),
    "additionalProperties": ({"type": "string"}, {"a": "b"}, {"a": 1}),
    "maxProperties": (1, {"a": 1}, {"a": 1, "b": 2}),
    "minProperties": (1, {"a": 1}, {}),
    "required": (["a"], {"a": 1}, {}),
    "enum": (["a"], "a", "b"),
    "allOf": ([{"maxLength": 1}], "a", "ab"),
    "anyOf": ([{"maxLength": 1}, {"minLength": 3}], "a", "ab"),
    "oneOf": ([{"maxLength": 2}, {"minLength": 2}], "a", "ab"),
    "not": ({"maxLength": 1}, "ab", "a"),
    "x-kubernetes-int-or-string": (True, 1, True),
}
"""A value of each keyword that value validation checks, a value that is valid then, and one that is not."""
BESIDE: Final[dict[str, dict[str, Any]]] = {
    "nullable": {"type": "string"},
    "format": {"type": "string"},
    "exclusiveMaximum": {"maximum": 3},
    "exclusiveMinimum": {"minimum": 3},
}
"""Keywords without which others mean nothing."""
HIDING: Final = {"minLength": {"maxLength"}, "pattern": {"maxLength", "minLength"}}
"""Keywords whose violations are reported instead of those of others."""


def test_keywords_and_numbers_are_unique() -> None:
    """Give each keyword a row of its own, and each number of a message one keyword."""
    assert len(NAMES) == len(KEYWORDS)
    assert sorted(each.number for each in KEYWORDS) == list(range(1, len(KEYWORDS) + 1))
    for numbers in ([each.v2 for each in KEYWORDS], [each.v3 for each in KEYWORDS]):
        used = [number for number in numbers if number]
        assert len(set(used)) == len(used)


def test_messages_and_types_have_all_keywords() -> None:
    """Let the Go type, its Protobuf message and its published schema name the same keywords."""
    assert types.SCHEMA.by_name.keys() == {name for name, _ in SCHEMA_WIRE.fields.values()} == DOCUMENT.keys() == NAMES


@pytest.mark.parametrize("keyword", KEYWORDS, ids=lambda keyword: keyword.name)
def test_published_type(keyword: Keyword) -> None:
    """Publish each keyword of a plain kind with its type."""
    assert DOCUMENT[keyword.name].get("type") == JSON_TYPES.get(keyword.kind)


def test_openapi_documents_have_all_structural_keywords() -> None:
    """Publish each keyword that a structural schema may have, in JSON and in both forms of Protobuf; v2 lacks some."""
    every = {each.name: example(each) for each in KEYWORDS if each.structural}

    def v2(schema: Mapping[str, Any]) -> bytes:
        return v2_protobuf.encode({"definitions": {"a": schema}})

    def v3(schema: Mapping[str, Any]) -> bytes:
        return v3_protobuf.encode({"components": {"schemas": {"a": schema}}})

    in_v2, in_v3 = ({name for name in every if encode({name: every[name]}) != encode({})} for encode in (v2, v3))
    assert schemas.v3_schema(every).keys() == in_v3 == every.keys()
    assert every.keys() - in_v2 == {"nullable", "allOf", "anyOf", "oneOf", "not"}
    assert schemas.v2_schema(every).keys() <= in_v2


@pytest.mark.parametrize("keyword", KEYWORDS, ids=lambda keyword: keyword.name)
def test_only_structural_keywords_are_supported(keyword: Keyword) -> None:
    """Reject the keywords that structural schemas cannot have, and no others."""
    assert bool(unsupported_field({keyword.name: example(keyword)})) == (not keyword.structural)


@pytest.mark.parametrize("clause", ["", *keywords.JUNCTORS])
@pytest.mark.parametrize("keyword", KEYWORDS, ids=lambda keyword: keyword.name)
def test_unsupported_keywords_of_definitions(keyword: Keyword, clause: str) -> None:
    """Let validation of definitions name the keywords that are not structural, and $schema only in the structural rules."""
    schema = {keyword.name: example(keyword)}
    errors = openapi_errors({clause: [schema]} if clause else schema, field.Path(), CREATE, None)

    found = any(error.detail == f"{keyword.name} is not supported" for error in errors)
    assert found == (not keyword.structural and keyword.name != "$schema")


def test_traversal_reaches_all_schemas() -> None:
    """Traverse all keywords that have schemas."""
    with_schemas = {each.name for each in KEYWORDS if "schema" in each.kind or each.kind in ("definitions", "dependencies")}

    assert with_schemas == {each.name for each in KEYWORDS if len(list(nodes({each.name: example(each)}))) > 1}


def test_every_checked_keyword_has_a_function() -> None:
    """Give each keyword that value validation checks one function, and no function to another keyword."""
    assert FUNCTIONS.keys() == {each.name for each in KEYWORDS if each.checks} == EXAMPLES.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_belongs_to_its_keyword(name: str) -> None:
    """Let each function apply to values that its keyword concerns, and ask for no keywords but its own and those that hide it."""
    value, valid, invalid = EXAMPLES[name]
    read = _Recorder({**BESIDE.get(name, {}), name: value})
    spec = Spec(read, served=True)
    basic = set(read.names)
    applying = [kind for kind in KINDS if FUNCTIONS[name] in FUNCTIONS_OF[kind]]
    for kind in applying:
        FUNCTIONS[name](spec, kind)
    own = {each for each, function in FUNCTIONS.items() if function is FUNCTIONS[name]}

    assert {type(valid), type(invalid)}.issubset(applying)
    assert name in read.names
    assert read.names - basic <= own | HIDING.get(name, set())


@pytest.mark.parametrize("name", EXAMPLES)
def test_check_and_error_of_a_keyword(name: str) -> None:
    """Accept and reject values by each keyword, in the check and in the report."""
    value, valid, invalid = EXAMPLES[name]
    spec = Spec({**BESIDE.get(name, {}), name: value}, served=True)
    check = compile_check(spec)

    assert (check(valid), check(invalid)) == (True, False)
    assert (spec.report(valid, DottedPath()).is_valid, spec.report(invalid, DottedPath()).is_valid) == (True, False)


@pytest.mark.parametrize("keyword", [each for each in KEYWORDS if not each.checks and each.structural], ids=lambda keyword: keyword.name)
def test_value_validation_ignores_the_others(keyword: Keyword) -> None:
    """Accept every value beside a keyword that value validation does not check."""
    spec = Spec({keyword.name: example(keyword)}, served=True)

    assert all(map(compile_check(spec), (1, "a", 1.5, True, [], {})))


def test_bounds_of_costs() -> None:
    """Bound the sizes of arrays, objects and strings."""
    assert keywords.SIZE_LIMITS == {"array": "maxItems", "object": "maxProperties", "string": "maxLength"}


def test_nobody_names_an_unknown_keyword() -> None:
    """Require that all keywords in the code of schemas are in the table."""
    named = {name for room in ROOMS for path in (PACKAGE / room).rglob("*.py") for name in _named(ast.parse(path.read_text()))}

    assert named - NAMES == NO_KEYWORDS


class _Recorder(dict[str, Any]):
    """A schema that records the keywords that are asked for."""

    def __init__(self, members: dict[str, Any]) -> None:
        super().__init__(members)
        self.names: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.names.add(key)
        return super().get(key, default)


def example(keyword: Keyword) -> Any:
    """Return a value of a keyword that is not empty."""
    if keyword.name in EXAMPLES:
        return EXAMPLES[keyword.name][0]
    if keyword.kind in ("schema", "schema or bool", "named schemas", "definitions", "dependencies"):
        return {"a": {"type": "string"}}
    known = {"names": ["a"], "rules": [{"rule": "true"}], "docs": {"url": "u"}}
    return True if "flag" in keyword.kind else known.get(keyword.kind, "text")


def _named(module: ast.Module) -> Iterator[str]:
    """Yield what looks like the name of an extension, and the members that are read from a variable with a schema."""
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value.startswith("x-kubernetes-") and " " not in node.value and node.value != "x-kubernetes-":
                yield node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
            owner, key = node.func.value, node.args[0]
            name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
            if name in READERS and isinstance(key, ast.Constant):
                yield str(key.value)
