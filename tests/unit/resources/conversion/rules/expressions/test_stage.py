"""Expressions set fields, in the order of the rules around them."""

from typing import Any

import pytest

from apiext.base.scheduling.inline_work import HeavyWorkError, InlineWork
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.expressions.stage import MAX_RESULT_VALUES
from apiext.resources.conversion.rules.interface import CompiledRules
from tests.support.builders.conversions import OPEN, compiled, conversion, converted, fields, items, widget

TEXT_MAP = {"type": "object", "additionalProperties": {"type": "string"}}
DATE = {"type": "string", "format": "date"}
SPOKE = fields(
    day=DATE,
    a="integer",
    b="integer",
    size="string",
    tags=items({"type": "string", "maxLength": 100}) | {"maxItems": 100},
    nested=fields(**{"if": "string", "x-y": "string"}),
    since={"type": "string", "format": "date-time"},
    ratio="number",
    port={"x-kubernetes-int-or-string": True},
    raw=OPEN,
    labels=TEXT_MAP,
    rows={
        "type": "array",
        "items": fields(name="string", value="integer"),
        "x-kubernetes-list-type": "map",
        "maxItems": 100,
        "x-kubernetes-list-map-keys": ["name"],
    },
)


def _to_hub(path: str, value: str, schema: Any, *more: Any) -> CompiledRules:
    rule = {"expression": {"toHub": [{"path": f"spec.{path}", "value": value}]}}
    return compiled(conversion(v1=[rule, *more]), v1=fields(spec=SPOKE), v2=fields(spec=schema))


@pytest.mark.parametrize(
    "value, kind, spec, result",
    [
        ("self.spec.a + self.spec.b", "integer", {"a": 1, "b": 2}, 3),
        ("self.spec.a > 1", "boolean", {"a": 1}, False),
        ("self.metadata.name + '-' + self.kind", "string", {}, "a-Widget"),
        ("double(self.spec.a) / 2.0", "number", {"a": 3}, 1.5),
        ("double(self.spec.a) / 2.0", "number", {"a": 4}, 2),
        ("self.spec.tags.map(t, t.upperAscii())", items("string"), {"tags": ["a", "b"]}, ["A", "B"]),
        ("self.spec.tags", items("string"), {"tags": ["a"]}, ["a"]),
        ("self.spec.nested", fields(**{"if": "string", "x-y": "string"}), {"nested": {"if": "1", "x-y": "2"}}, {"if": "1", "x-y": "2"}),
        ("self.spec.since", "string", {"since": "2020-01-02T03:04:05Z"}, "2020-01-02T03:04:05Z"),
        ("self.spec.day", DATE, {"day": "2020-01-02"}, "2020-01-02"),
        ("self.spec.port", {"x-kubernetes-int-or-string": True}, {"port": "http"}, "http"),
        ("self.spec.port", {"x-kubernetes-int-or-string": True}, {"port": 80}, 80),
        ("self.spec.raw", OPEN, {"raw": {"a": [{"b": 1}]}}, {"a": [{"b": 1}]}),
        ("self.spec.labels", TEXT_MAP, {"labels": {"a.b": "1"}}, {"a.b": "1"}),
        ("self.spec.rows.filter(r, r.value > 1)", items(fields(name="string")), {"rows": [{"name": "a", "value": 2}]}, [{"name": "a"}]),
        ("{'a': 1, 'b': self.spec.a}", fields(a="integer", b="integer"), {"a": 2}, {"a": 1, "b": 2}),
        ("self.spec.?a.optMap(n, n * 2)", "integer", {"a": 2}, 4),
        ("quantity(self.spec.size).asInteger()", "integer", {"size": "1k"}, 1000),
        ("b'abc'", "string", {}, "YWJj"),
        ("duration('90s')", "string", {}, "90s"),
        ("dyn(null)", {"type": "string", "nullable": True}, {}, None),
    ],
)
def test_a_result_becomes_json(value: str, kind: Any, spec: Any, result: Any) -> None:
    """Set a field to what an expression returns."""
    rules = _to_hub("result", value, fields(result=kind))

    found, is_exact = converted(rules, widget("v1", spec), "v2")

    assert found["spec"] == {"result": result}
    assert not is_exact


def test_an_empty_optional_removes_the_field() -> None:
    """Remove the field where the expression returns no value."""
    rules = _to_hub("result", "self.spec.?a", fields(result="integer"))

    assert converted(rules, widget("v1", {"b": 1}), "v2")[0] == widget("v2", {})


@pytest.mark.parametrize(
    "value",
    [
        "self.spec.a + 1",
        "has(self.spec.nested.x_y) ? 1 : 2",
        "has(self.spec.rows[0].name) ? 1 : 2",
        "int(self.spec.labels.b)",
        "self.spec.rows.map(r, r.value)[0]",
    ],
)
@pytest.mark.parametrize("spec", [None, {}, {"labels": {"a": "1"}, "rows": [{"name": "b"}]}], ids=["nothing", "empty", "some"])
def test_what_reads_a_missing_field_has_no_value(value: str, spec: Any) -> None:
    """Remove the field as for an empty optional, whatever is missing on the way: server-side apply converts such objects."""
    rules = _to_hub("result", value.replace("x_y", "if"), fields(result="integer"))
    given = widget("v1", spec if spec is not None else {})
    if spec is None:
        del given["spec"]

    found, _ = converted(rules, given, "v2")

    known = {"result": 1} if "rows[0].name" in value and spec else {}
    assert found.get("spec", {}) == known


def test_both_directions_are_written() -> None:
    """Use the expressions of each direction for it alone."""
    rule = {
        "expression": {
            "toHub": [{"path": "spec.total", "value": "self.spec.a + self.spec.b"}],
            "toSpoke": [{"path": "spec.a", "value": "self.spec.total"}, {"path": "spec.b", "value": "0"}],
        }
    }
    rules = compiled(conversion(v1=[rule]), v1=fields(spec=SPOKE), v2=fields(spec=fields(total="integer")))

    assert converted(rules, widget("v1", {"a": 1, "b": 2}), "v2")[0] == widget("v2", {"total": 3})
    assert converted(rules, widget("v2", {"total": 3}), "v1")[0] == widget("v1", {"a": 3, "b": 0})


def test_expressions_read_the_object_before_all_rules() -> None:
    """Read a field that an earlier rule has moved, and set one that a later rule moves."""
    rules = compiled(
        conversion(
            v1=[
                {"rename": {"path": "spec.a", "to": "first"}},
                {"expression": {"toHub": [{"path": "spec.sum", "value": "self.spec.a + 1"}]}},
                {"rename": {"path": "spec.sum", "to": "total"}},
            ]
        ),
        v1=fields(spec=SPOKE),
        v2=fields(spec=fields(first="integer", total="integer")),
    )

    assert converted(rules, widget("v1", {"a": 1}), "v2")[0] == widget("v2", {"first": 1, "total": 2})


def test_a_result_shares_nothing_with_the_object() -> None:
    """Copy what an expression returns of the object."""
    found, _ = converted(
        _to_hub("copied", "self.spec.labels", fields(copied=TEXT_MAP, labels=TEXT_MAP)), widget("v1", {"labels": {}}), "v2"
    )

    found["spec"]["copied"]["a"] = "b"

    assert found["spec"]["labels"] == {}


@pytest.mark.parametrize(
    "value, spec, error",
    [
        ("1 / self.spec.a", {"a": 0}, "the expression for spec.result failed: division by zero"),
        ("self.spec.a + 1", {"a": "text"}, "the expression for spec.result failed: "),
    ],
)
def test_a_failure_names_the_field(value: str, spec: Any, error: str) -> None:
    """Refuse an object for which an expression fails, also one whose values have other types than the schema's."""
    with pytest.raises(ConversionError) as caught:
        converted(_to_hub("result", value, fields(result="integer")), widget("v1", spec), "v2")

    assert str(caught.value).startswith(error)


def test_costs_are_limited_for_each_object() -> None:
    """Refuse an object for which expressions cost more than they may, though each is within the limit of its estimate."""
    rules = compiled(
        conversion(v1=[{"expression": {"toHub": [{"path": f"spec.n{n}", "value": "self.spec.tags.all(t, t != 'x')"} for n in range(40)]}}]),
        v1=fields(spec=fields(tags=items({"type": "string", "maxLength": 10}) | {"maxItems": 10_000})),
        v2=fields(spec=fields(**{f"n{n}": "boolean" for n in range(40)})),
    )

    found, _ = converted(rules, widget("v1", {"tags": ["a"] * 10}), "v2")
    assert found["spec"] == {f"n{n}": True for n in range(40)}
    with pytest.raises(ConversionError, match="cost too much for one object"):
        converted(rules, widget("v1", {"tags": ["a"] * 10_000}), "v2")


REPEATED = f"[{', '.join(['self.spec.tags'] * 1000)}]"
"""Costs little to evaluate, and makes a thousand lists."""


def _repeating() -> CompiledRules:
    return _to_hub("result", REPEATED, fields(result=items(items("string"))))


@pytest.mark.parametrize(
    "value, kind, spec",
    [
        ("self.spec.tags.all(t, t != 'x')", "boolean", {"tags": ["a"] * 10_000}),
        (REPEATED, items(items("string")), {"tags": ["a"] * 10}),
        ("self.spec.raw", OPEN, {"raw": {"a": [[1] * 100] * 100}}),
        ("self.spec.size", "string", {"size": "a" * 100_000}),
    ],
    ids=["cost", "named often", "open", "long text"],
)
def test_what_takes_long_is_not_done_on_the_event_loop(value: str, kind: Any, spec: Any) -> None:
    """Stop a long evaluation on the event loop, before anything has changed; it succeeds elsewhere."""
    rules, obj = _to_hub("result", value, fields(result=kind)), widget("v1", spec)
    rules.transformation("v1", "v2")

    with InlineWork(), pytest.raises(HeavyWorkError):
        converted(rules, obj, "v2")

    assert "result" in converted(rules, obj, "v2")[0]["spec"]


def test_long_expressions_are_not_compiled_on_the_event_loop() -> None:
    """Compile them elsewhere, and then use them."""
    rules, obj = _to_hub("result", f"[{', '.join(['1'] * 1500)}].size()", fields(result="integer")), widget("v1", {})

    with InlineWork(), pytest.raises(HeavyWorkError):
        converted(rules, obj, "v2")

    assert converted(rules, obj, "v2")[0]["spec"] == {"result": 1500}
    with InlineWork():
        assert converted(rules, obj, "v2")[0]["spec"] == {"result": 1500}


def test_each_object_has_the_event_loop_for_a_time_of_its_own() -> None:
    """Convert many objects on the event loop, which together take longer than one may."""
    rules, obj = _to_hub("result", "self.spec.tags.all(t, t != 'x')", fields(result="boolean")), widget("v1", {"tags": ["a"] * 300})

    with InlineWork():
        assert all(converted(rules, obj, "v2")[0]["spec"] == {"result": True} for _ in range(30))


def test_the_size_of_results_is_limited() -> None:
    """Refuse an object for which expressions make more values than they may."""
    with pytest.raises(ConversionError, match=f"the expressions make more than {MAX_RESULT_VALUES} values"):
        converted(_repeating(), widget("v1", {"tags": ["a"] * 1000}), "v2")


def test_the_depth_of_results_is_limited() -> None:
    """Refuse an object for which an expression makes a value that could not be written below its path."""
    raw: Any = 1
    for _ in range(150):
        raw = [raw]

    with pytest.raises(ConversionError, match="nested deeper than 136 levels"):
        converted(_to_hub("result", "self.spec.raw", fields(result=OPEN)), widget("v1", {"raw": {"a": raw}}), "v2")
