"""Evaluation of admission expressions: values, variables and budgets."""

from __future__ import annotations

from typing import Any

import pytest

from apiext.base.scheduling.inline_work import HeavyWorkError, InlineWork
from apiext.schema.cel.policies.compiler import ANY, PolicyCompiler
from apiext.schema.cel.policies.evaluation import MAX_CALL_COST, MAX_POLICY_COST, Evaluation, OutOfBudgetError
from tests.unit.schema.cel.policies.requests import ALL, inputs, run

_COSTLY = "[0,1,2,3,4,5,6,7,8,9].all(x, [0,1,2,3,4,5,6,7,8,9].all(y, [0,1,2,3,4,5,6,7,8,9].all(z, true)))"


@pytest.mark.parametrize(
    "source, value",
    [
        ("object.spec.size + 1", 4),
        ("oldObject == null && params == null", True),
        ("request.kind.version + request.requestKind.version + request.operation", "v1v2CREATE"),
        ("has(request.subResource)", False),
        ("request.userInfo.extra.team[1]", "b"),
        ("request.options.kind", "CreateOptions"),
        ("dyn(request).uid + string(request.dryRun)", "false"),
        ("namespaceObject.metadata.labels.a + namespaceObject.status.phase", "bActive"),
        ("has(dyn(namespaceObject).metadata.managedFields) || has(dyn(namespaceObject).kind)", False),
        ("namespaceObject.spec", {}),
        ("authorizer.group('example.com').resource('widgets').name('x').check('get').reason()", "bob example.com/widgets x"),
        ("authorizer.path('/healthz').check('post').allowed()", False),
        ("authorizer.requestResource.check('get').reason()", "bob example.com/widgets w"),
        ("authorizer.serviceAccount('ns', 'sa').path('/x').check('get').reason()", "system:serviceaccount:ns:sa //x "),
        ("authorizer.group('').resource('broken').check('get').error()", "no answer"),
        ("authorizer.group('').resource('broken').check('get').errored()", True),
        ("jsonpatch.escapeKey('a/b~c')", "a~1b~0c"),
        ("Object{a: Object.a{b: 1}}.a == Object.a{b: 1}", True),
        ("has(JSONPatch{op: 'add'}.path) || has(Object{?a: optional.none()}.a)", False),
        ("JSONPatch{op: 'add', value: [1]}.value", [1]),
    ],
)
def test_values(source: str, value: Any) -> None:
    """Expressions see the request, its objects and the namespace as in the reference."""
    outcome = run(source)

    assert (outcome.error, outcome.value) == ("", value)


@pytest.mark.parametrize(
    "source, error",
    [
        ("object.nope", "no such key: nope"),
        ("request.subResource", "no such key: subResource"),
        ("params.data", "no such key: data"),
        ("namespaceObject.metadata.creationTimestamp < timestamp('2021-01-01T00:00:00Z')", "no such overload"),
        ("authorizer.path(' ').check('get')", "path must not be empty"),
        ("authorizer.group('').resource('')", "resource must not be empty"),
        ("authorizer.serviceAccount('a.b', 'c')", "Invalid service account namespace"),
        ("authorizer == authorizer", "no such overload"),
        ("object.spec.mixed.isSorted()", "no such overload"),
        ("JSONPatch{op: dyn(1)}", "unexpected type int64 for JSONPatchType 'op' field"),
    ],
)
def test_errors(source: str, error: str) -> None:
    """An evaluation without a value has an error with the expression."""
    assert run(source).error == f"expression '{source}' resulted in error: {error}"


def test_a_variable_is_evaluated_once_and_only_if_it_is_used() -> None:
    """The cost of a variable counts once for all expressions of an evaluation."""
    compiler = PolicyCompiler(composed=True)
    compiler.compile_variables({"unused": _COSTLY, "used": _COSTLY, "again": "variables.used"}, ALL)
    evaluation = Evaluation(inputs(), compiler.variables, limit=MAX_POLICY_COST)
    expression = compiler.compile("variables.used && variables.again", ANY, ALL)

    lefts = []
    for _ in range(3):
        assert evaluation.run(expression).value is True
        lefts.append(MAX_POLICY_COST - evaluation.left)

    first, second, third = lefts
    assert first > 1000
    assert third - second == second - first < 10


@pytest.mark.parametrize(
    "variable, error",
    [
        ("object.nope", 'composited variable "v" fails to evaluate: no such key: nope'),
        (
            "nope",
            (
                'composited variable "v" fails to compile: compilation failed: ERROR: <input>:1:1:'
                " undeclared reference to 'nope' (in container '')\n | nope\n | ^"
            ),
        ),
    ],
)
def test_the_failure_of_a_variable_can_be_absorbed(variable: str, error: str) -> None:
    """A variable without value fails where it is used, as any other error of an operand."""
    source = "variables.v == 1"

    assert run(source, {"v": variable}).error == f"expression '{source}' resulted in error: {error}"
    assert run(f"{source} || true", {"v": variable}).value is True


def test_an_evaluation_may_cost_a_million() -> None:
    """An expression, or a variable, above the limit of a call fails. Two authorization checks are below it."""
    check = "authorizer.path('/x').check('get').allowed()"
    error = "operation cancelled: actual cost limit exceeded"

    assert run(f"{check} && {check}").value is True
    assert run(f"{check} && {check} && {check}").error.endswith(f"resulted in error: {error}")
    assert run("variables.v", {"v": f"{check} && {check} && {check}"}).error.endswith(f'"v" fails to evaluate: {error}')


def test_the_budget_covers_expressions_and_variables() -> None:
    """No further expression is evaluated once the budget is used up."""
    compiler = PolicyCompiler(composed=True)
    check = compiler.compile("authorizer.path('/x').check('get').allowed()", ANY, ALL)
    evaluation = Evaluation(inputs(), compiler.variables, limit=MAX_CALL_COST)
    evaluation.run(check)
    evaluation.run(check)

    with pytest.raises(OutOfBudgetError, match="running out of cost budget, no further"):
        evaluation.run(check)


def test_an_inline_evaluation_ends_before_it_takes_long() -> None:
    """Loops end it; authorization checks, whose cost is no work, do not."""
    check = "authorizer.path('/x').check('get').allowed()"
    compiler = PolicyCompiler(composed=True)
    compiler.compile_variables({"checked": check}, ALL)
    with InlineWork():
        evaluation = Evaluation(inputs(), compiler.variables, limit=MAX_POLICY_COST)

    assert evaluation.run(
        compiler.compile(f"variables.checked && {check} && authorizer.requestResource.check('get').allowed()", ANY, ALL)
    ).value
    with pytest.raises(HeavyWorkError):
        evaluation.run(compiler.compile(f"[0,1,2,3,4,5].all(w, {_COSTLY})", ANY, ALL))


def test_many_inline_evaluations_end_too() -> None:
    """Hundreds of cheap expressions take long together."""
    compiler = PolicyCompiler()
    with InlineWork():
        evaluation = Evaluation(inputs(), {}, limit=MAX_POLICY_COST)
    expression = compiler.compile("true", ANY, ALL)

    with pytest.raises(HeavyWorkError):
        list(map(evaluation.run, [expression] * 1000))


def test_an_evaluation_without_authorizer_fails_where_it_is_needed() -> None:
    """As for messages and audit annotations in the reference."""
    values = inputs()
    values.authorizer = values.request_resource = None

    assert run("authorizer.path('/x').check('get').allowed() || true", values=values).value is True
    assert run("authorizer.path('/x')", values=values).error.endswith("error: no such attribute(s): authorizer")
    assert run("variables.v", {"v": "authorizer.requestResource"}, values).error.endswith(
        "no such attribute(s): authorizer.requestResource"
    )
