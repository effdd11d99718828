"""The request that expressions are evaluated for."""

from __future__ import annotations

from typing import Any

from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.base.meta.request import AdmissionOperation, RequestInfo, UserInfo
from apiext.schema.cel.libraries.authorization import AuthorizationAnswer, Authorizer, GroupCheck, ResourceCheck
from apiext.schema.cel.policies.compiler import ANY, PolicyCompiler
from apiext.schema.cel.policies.environments import Declarations
from apiext.schema.cel.policies.evaluation import MAX_POLICY_COST, Evaluation, ExpressionOutcome
from apiext.schema.cel.policies.inputs import Inputs, RequestValue, shown_namespace

USER = UserInfo("bob", ("admins",), uid="7", extra={"team": ("a", "b")})
ALL = Declarations(params=True, patches=True)
_NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "here", "labels": {"a": "b"}, "creationTimestamp": "2020-01-01T00:00:00Z", "managedFields": [{"manager": "x"}]},
    "status": {"phase": "Active"},
}


def answer(user: UserInfo, info: RequestInfo) -> AuthorizationAnswer:
    """Allow only `get`; fail for the resource `broken`."""
    if info.resource == "broken":
        return AuthorizationAnswer(is_allowed=False, error="no answer")
    return AuthorizationAnswer(is_allowed=info.verb == "get", reason=f"{user.name} {info.group}/{info.resource or info.path} {info.name}")


def inputs(*, params: Any = None, obj: Any = None, old: Any = None) -> Inputs:
    """Return the values of variables for the creation of an object."""
    request = RequestValue(
        operation=AdmissionOperation.CREATE,
        kind=GroupVersionKind("example.com", "v1", "Widget"),
        resource=GroupVersionResource("example.com", "v1", "widgets"),
        request_kind=GroupVersionKind("example.com", "v2", "Widget"),
        request_resource=GroupVersionResource("example.com", "v2", "widgets"),
        user=USER,
        name="w",
        namespace="here",
        options={"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    )
    authorizer = Authorizer(USER, answer)
    return Inputs(
        object=obj if obj is not None else {"metadata": {"name": "w"}, "spec": {"size": 3, "items": [1, 2], "mixed": [1, 2.5, None]}},
        old_object=old,
        params=params,
        namespace=shown_namespace(_NAMESPACE),
        request=request.make,
        authorizer=authorizer,
        request_resource=ResourceCheck(
            GroupCheck(authorizer, "example.com").authorizer, "example.com", "widgets", namespace="here", name="w"
        ),
    )


def run(source: str, variables: dict[str, str] | None = None, values: Inputs | None = None) -> ExpressionOutcome:
    """Return the outcome of an expression with some variables."""
    compiler = PolicyCompiler(composed=True)
    compiler.compile_variables(variables or {}, ALL)
    evaluation = Evaluation(values or inputs(), compiler.variables, limit=MAX_POLICY_COST)
    return evaluation.run(compiler.compile(source, ANY, ALL))
