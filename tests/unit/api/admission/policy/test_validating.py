"""Validating policies: what rejects a write, and what a binding does about violations."""

from __future__ import annotations

from typing import Any

import pytest

from apiext.api.admission.attributes import Attributes
from apiext.api.admission.policy.validating import ValidatingAdmissionPolicies
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.errors import StatusError
from tests.unit.api.admission.policy.fakes import Sources, policy, validation, write

_PREFIX = "widgets.example.com \"w\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p-0' denied request: "
_CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap"}


async def _validate(sources: Sources, attributes: Attributes | None = None) -> StatusError | None:
    try:
        await ValidatingAdmissionPolicies(sources.all).validate(attributes or write({"size": 3}))
    except StatusError as error:
        return error
    return None


async def _denial(*validations: dict[str, Any], **spec: Any) -> StatusError | None:
    sources = Sources()
    sources.entries = [policy(validations=validations, **spec)]
    return await _validate(sources)


async def test_a_write_that_satisfies_all_passes() -> None:
    """Without a violation nothing is reported."""
    attributes = write({"size": 3})
    sources = Sources()
    sources.entries = [policy(validations=[validation("object.spec.size < 5"), validation("request.name == 'w'")])]

    assert await _validate(sources, attributes) is None
    assert (attributes.warnings, attributes.annotations) == ([], {})


async def test_a_violation_rejects_the_write() -> None:
    """The answer has the expression, the reason Invalid and a cause."""
    denial = await _denial(validation(" object.spec.size > 5 "))

    text = f"{_PREFIX}failed expression: object.spec.size > 5"
    assert denial is not None
    assert denial.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": text,
        "reason": "Invalid",
        "details": {
            "name": "w",
            "group": "example.com",
            "kind": "widgets",
            "causes": [{"message": text.removeprefix('widgets.example.com "w" is forbidden: ')}],
        },
        "code": 422,
    }


@pytest.mark.parametrize("reason, code", [("Forbidden", 403), ("Unauthorized", 401), ("RequestEntityTooLarge", 413), ("Invalid", 422)])
async def test_reasons_have_codes(reason: str, code: int) -> None:
    """The reason of a validation decides about the code."""
    denial = await _denial(validation("false", reason=reason, message=" too big "))

    assert denial is not None
    assert (denial.reason, denial.code, denial.message) == (reason, code, f"{_PREFIX}too big")


@pytest.mark.parametrize(
    "expression, message",
    [
        ("'size ' + string(object.spec.size)", "size 3"),
        ("'  '", "plain"),
        ("'a\\nb'", "plain"),
        ("'x' + object.nope", "plain"),
        ("params.nope", "plain"),
        (f"'{'x' * 5121}'", "plain"),
        (f"'{'x' * 5120}'", "x" * 5120),
    ],
)
async def test_message_expressions(expression: str, message: str) -> None:
    """An evaluated message that is empty, too long, has several lines or fails gives way to the plain one."""
    denial = await _denial(validation("false", message="plain", messageExpression=expression))

    assert denial is not None
    assert denial.message.removeprefix(_PREFIX) == message


@pytest.mark.parametrize(
    "expression, message",
    [
        ("object.nope == 1", "expression 'object.nope == 1' resulted in error: no such key: nope"),
        (
            "nope",
            "compilation error: compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope\n | ^",
        ),
    ],
)
async def test_errors_follow_the_failure_policy(expression: str, message: str) -> None:
    """Errors reject the write, unless the policy ignores them."""
    denial = await _denial(validation(expression))

    assert denial is not None
    assert (denial.message, denial.reason) == (_PREFIX + message, "Invalid")
    assert await _denial(validation(expression), failurePolicy="Ignore") is None


async def test_match_conditions() -> None:
    """A false condition skips the policy; one that fails rejects the write by the failure policy. They see no namespace."""
    wrong = {"name": "wrong", "expression": "object.nope == 1"}
    error = "expression 'object.nope == 1' resulted in error: no such key: nope"

    assert await _denial(validation("false"), matchConditions=[{"name": "no", "expression": "namespaceObject != null"}]) is None
    denial = await _denial(validation("true"), matchConditions=[wrong])
    assert denial is not None
    assert denial.message == _PREFIX + error
    assert await _denial(validation("false"), matchConditions=[wrong], failurePolicy="Ignore") is None


async def test_the_namespace_and_the_authorizer() -> None:
    """Expressions see the namespace of the object; equal authorization checks are made once."""
    check = "authorizer.group('').resource('pods').check('get').allowed()"
    sources = Sources()
    sources.entries = [
        policy("a", validations=[validation(f"namespaceObject.metadata.labels.env == 'test' && {check}")]),
        policy("b", validations=[validation(check), validation(f"!({check})", message="may")]),
    ]
    denial = await _validate(sources)

    assert denial is not None
    assert denial.message.endswith("'b' with binding 'b-0' denied request: may")
    assert [info.resource for info in sources.checks] == ["pods"]


async def test_actions() -> None:
    """A binding may reject, warn and record at once, all violations of all validations."""
    sources = Sources()
    binding = {"validationActions": ["Warn", "Audit"]}
    sources.entries = [policy("p", binding, validations=[validation("false", message="<one>"), validation("true"), validation("false")])]
    attributes = write()

    assert await _validate(sources, attributes) is None
    text = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-0': "
    assert attributes.warnings == [f"{text}<one>", f"{text}failed expression: false"]
    recorded = attributes.annotations["validation.policy.admission.k8s.io/validation_failure"]
    assert recorded.startswith('[{"message":"\\u003cone\\u003e","policy":"p","binding":"p-0","expressionIndex":0,')
    assert [one["expressionIndex"] for one in json_codec.loads(recorded.encode())] == [0, 2]


async def test_audit_annotations() -> None:
    """Distinct values of bindings and parameters are joined; null and empty ones are left out; errors reject the write."""
    sources = Sources()
    sources.parameters = [{"metadata": {"name": name}, "data": {"v": value}} for name, value in (("a", "1"), ("b", "2"), ("c", "1"))]
    reference = {"selector": {}, "namespace": "there", "parameterNotFoundAction": "Deny"}
    annotations = [
        {"key": "value", "valueExpression": "string(params.kind) + string(params.data.v)"},
        {"key": "none", "valueExpression": "null"},
        {"key": "empty", "valueExpression": "' '"},
    ]
    sources.entries = [policy("p", {"paramRef": reference}, paramKind=_CONFIG_MAP, auditAnnotations=annotations)]
    attributes = write()

    assert await _validate(sources, attributes) is None
    assert attributes.annotations == {"p/value": "ConfigMap1, ConfigMap2"}
    denial = await _denial(auditAnnotations=[{"key": "k", "valueExpression": "string(authorizer.path('/x').check('get').allowed())"}])
    assert denial is not None
    assert denial.message.endswith("resulted in error: no such attribute(s): authorizer")


async def test_each_parameter_is_evaluated() -> None:
    """A binding with a selector evaluates the policy once for each parameter; the first denial is the answer."""
    sources = Sources()
    sources.parameters = [{"metadata": {"name": name}, "data": {"max": value}} for name, value in (("a", "5"), ("b", "2"))]
    spec = {
        "paramKind": _CONFIG_MAP,
        "validations": [validation("object.spec.size <= int(params.data.max)", messageExpression="'above ' + params.metadata.name")],
    }
    selector = {"matchLabels": {"x": "y"}, "matchExpressions": [{"key": "k", "operator": "NotIn", "values": ["b", "a"]}]}
    sources.entries = [policy("p", {"paramRef": {"selector": selector, "parameterNotFoundAction": "Deny"}}, **spec)]
    denial = await _validate(sources)

    assert denial is not None
    assert denial.message == f"{_PREFIX}above b"
    (query,) = sources.queries
    assert (query.api_version, query.kind, query.namespace, query.selector) == ("v1", "ConfigMap", "here", "x=y,k notin (a,b)")


@pytest.mark.parametrize(
    "reference, kind, message",
    [
        (
            {"name": "missing", "parameterNotFoundAction": "Deny"},
            "ConfigMap",
            "no params found for policy binding with `Deny` parameterNotFoundAction",
        ),
        ({"name": "missing", "parameterNotFoundAction": "Allow"}, "ConfigMap", ""),
        ({"name": "x", "namespace": "n"}, "Limit", "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"),
    ],
)
async def test_missing_parameters(reference: dict[str, Any], kind: str, message: str) -> None:
    """They reject the write, or the policy is skipped."""
    sources = Sources()
    sources.entries = [
        policy("p", {"paramRef": reference}, paramKind={"apiVersion": "v1", "kind": kind}, validations=[validation("false")])
    ]
    denial = await _validate(sources)

    assert (denial and denial.message) == (f"{_PREFIX}failed to configure binding: {message}" if message else None)


async def test_an_unknown_kind_of_parameters() -> None:
    """The policy is at fault, not a binding."""
    denial = await _denial(validation("true"), paramKind={"apiVersion": "example.com/v1", "kind": "Nope"})

    text = "failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Nope'"
    assert denial is not None
    assert denial.message.endswith(f"ValidatingAdmissionPolicy 'p' denied request: {text}")


async def test_expressions_see_the_version_that_the_rule_names() -> None:
    """The object of another version is converted; the request names both."""
    sources = Sources()
    expression = "object.apiVersion == 'example.com/v1' && request.kind.version + request.requestKind.version == 'v1v2'"
    condition = "request.resource.version == 'v2' && request.kind.version == 'v1'"
    sources.entries = [policy(validations=[validation(expression)], matchConditions=[{"name": "c", "expression": condition}])]
    attributes = write(version="v2")

    assert await _validate(sources, attributes) is None
    sources.entries = [policy(validations=[validation("false")], matchConditions=[{"name": "c", "expression": condition}])]
    assert await _validate(sources, write(version="v2")) is not None


async def test_bindings_narrow_a_policy() -> None:
    """A binding has selectors and rules of its own."""
    sources = Sources()
    other = {"matchResources": {"namespaceSelector": {}, "objectSelector": {"matchLabels": {"a": "other"}}, "matchPolicy": "Equivalent"}}
    same = {"matchResources": {"namespaceSelector": {}, "objectSelector": {"matchLabels": {"a": "b"}}, "matchPolicy": "Equivalent"}}
    sources.entries = [policy("p", other, same, validations=[validation("false")])]
    denial = await _validate(sources)

    assert denial is not None
    assert "binding 'p-1'" in denial.message


async def test_a_server_that_is_not_ready() -> None:
    """Writes wait for the first list, then they are rejected."""
    sources = Sources()
    sources.ready = False
    denial = await _validate(sources)

    assert denial is not None
    assert (denial.code, denial.message) == (403, 'widgets.example.com "w" is forbidden: not yet ready to handle request')


async def test_variables_and_their_costs() -> None:
    """Variables are shared by the validations of a policy; a policy that costs too much fails."""
    check = "authorizer.path('/x').check('get').allowed()"
    many = [validation(f"{check} && {check}")] * 15

    assert await _denial(validation("variables.v == 4"), variables=[{"name": "v", "expression": "object.spec.size + 1"}]) is None
    denial = await _denial(*many)
    assert denial is not None
    assert denial.message == f"{_PREFIX}validation failed due to running out of cost budget, no further validation rules will be run"


async def test_metrics() -> None:
    """Each action about a violation is counted, and ignored errors; the text of a violation makes it an invalid_error."""
    sources = Sources()
    spec = {"validations": [validation("false"), validation("true"), validation("nope")], "failurePolicy": "Ignore"}
    conditions = [{"name": "c", "expression": "true"}]
    sources.entries = [policy("p", {"validationActions": ["Deny", "Audit"]}, matchConditions=conditions, **spec)]
    await _validate(sources)

    counted = {key: series.count for key, series in sources.stats.validating_policies.items()}
    expected = (("invalid_error", "deny"), ("invalid_error", "audit"), ("compile_error", "allow"))
    assert counted == {("p", "p-0", *labels): 1 for labels in expected}
    assert list(sources.stats.condition_seconds) == [("p", "policy", "validate", "CREATE")]
