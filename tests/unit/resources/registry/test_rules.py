"""When the rules of custom resources are evaluated; tests/differential/cel/test_rules.py compares the answers with kube-apiserver."""

from typing import Any

from apiext.base.meta.gvk import GroupVersionKind
from apiext.resources.registry.customresources.strategy import CustomResourceStrategy, StatusStrategy
from apiext.resources.registry.request_context import RequestContext
from apiext.schema.compiled import CompiledSchema

COUNT = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 5"}]}
SCHEMA = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"count": COUNT, "name": {"type": "string", "pattern": "a"}}}},
}
STRATEGY = CustomResourceStrategy(kind=GroupVersionKind("example.com", "v1", "Widget"), namespaced=False, rules=CompiledSchema(SCHEMA))
BROKEN = "spec.count: Invalid value: 1: failed rule: self > 5"


def widget(**members: Any) -> dict[str, Any]:
    """Return a Widget with members of its spec and its top level."""
    top = {name: members.pop(name) for name in ("kind", "status") if name in members}
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "uid": "u", "resourceVersion": "1"},
        "spec": members,
    } | top


def errors(obj: dict[str, Any]) -> list[str]:
    """Return the errors of a new object."""
    return [str(error) for error in STRATEGY.validate(RequestContext(), obj)]


def test_blocking_errors() -> None:
    """Leave rules out if values have wrong types, and report that; evaluate them beside other errors."""
    unchecked = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
    pattern = "spec.name: Invalid value: \"b\": spec.name in body should match 'a'"

    assert errors(widget(count=1)) == [BROKEN]
    assert errors(widget(count=1, name=5))[1:] == [f"<nil>: Invalid value: null: {unchecked}"]
    assert errors(widget(count=1, name="b")) == [pattern, BROKEN]
    assert errors(widget(count=1, name="b", kind="Other")) == ['kind: Invalid value: "Other": must be Widget', BROKEN]
    mistyped = 'spec.count: Invalid value: "integer": invalid data, expected int, got string evaluating rule: self > 5'
    assert errors(widget(count="x", kind="Other"))[1:] == [mistyped]


def test_unchanged_values() -> None:
    """Warn about rules that unchanged values break, in updates of the object and of its status."""
    for strategy in (STRATEGY, StatusStrategy(STRATEGY)):
        ctx = RequestContext()

        assert strategy.validate_update(ctx, widget(count=1, status=1), widget(count=1), []) == []
        assert ctx.warnings == [BROKEN]
        assert [str(error) for error in strategy.validate_update(ctx, widget(count=1), widget(count=2), [])] == [BROKEN]
