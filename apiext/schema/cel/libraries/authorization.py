"""Authorization checks (apiserver pkg/cel/library/authz.go).

Rules of custom resources have no variable of these types. For expressions of admission the caller makes an `Authorizer`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from apiext.base.meta.names import dns1123_label, dns1123_subdomain
from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.libraries.costs import LIST_CREATION_COST, actual_size, string_cost
from apiext.schema.cel.libraries.library import Cost, Library, Overload
from apiext.schema.cel.types import BOOL, STRING, CelType
from apiext.schema.cel.values.run_time_values import OpaqueValue

AUTHORIZER: Final = CelType("kubernetes.authorization.Authorizer")
RESOURCE_CHECK: Final = CelType("kubernetes.authorization.ResourceCheck")
_PATH: Final = CelType("kubernetes.authorization.PathCheck")
_GROUP: Final = CelType("kubernetes.authorization.GroupCheck")
_DECISION: Final = CelType("kubernetes.authorization.Decision")
CHECK_COST: Final = 350_000
"""Cost units of a check."""
_REQUIREMENT_COST: Final = LIST_CREATION_COST + 40
"""Cost units of a requirement of a selector: a list and a struct."""
_SERVICE_ACCOUNTS: Final = "system:serviceaccounts"


@dataclass(frozen=True, slots=True)
class AuthorizationAnswer:
    """The result of an authorization check."""

    is_allowed: bool
    reason: str = ""
    error: str | None = None
    """Why there is no decision."""


Answer = Callable[[UserInfo, RequestInfo], AuthorizationAnswer]
"""Answers a check. It may raise an error other than CelError to end the evaluation."""


class _AccessValue(OpaqueValue):
    """A value without fields and without equality."""

    __slots__ = ()
    has_equality = False


@dataclass(frozen=True, slots=True, eq=False)
class Authorizer(_AccessValue):
    """Checks what a user may do."""

    cel_type: ClassVar[CelType] = AUTHORIZER
    user: UserInfo
    answer: Answer


@dataclass(frozen=True, slots=True, eq=False)
class PathCheck(_AccessValue):
    """Checks requests for a path that is no resource."""

    cel_type: ClassVar[CelType] = _PATH
    authorizer: Authorizer
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class GroupCheck(_AccessValue):
    """Checks requests for resources of a group."""

    cel_type: ClassVar[CelType] = _GROUP
    authorizer: Authorizer
    group: str


@dataclass(frozen=True, slots=True, eq=False)
class ResourceCheck(_AccessValue):
    """Checks requests for a resource."""

    cel_type: ClassVar[CelType] = RESOURCE_CHECK
    authorizer: Authorizer
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class DecisionValue(_AccessValue):
    """The decision about a request."""

    cel_type: ClassVar[CelType] = _DECISION
    answer: AuthorizationAnswer


def _path(authorizer: Authorizer, path: str) -> PathCheck:
    if not path.strip():
        raise CelError("path must not be empty")
    return PathCheck(authorizer, path)


def _service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if dns1123_subdomain(name):
        raise CelError("Invalid service account name")
    if dns1123_label(namespace):
        raise CelError("Invalid service account namespace")
    groups = (_SERVICE_ACCOUNTS, f"{_SERVICE_ACCOUNTS}:{namespace}")
    return Authorizer(UserInfo(f"system:serviceaccount:{namespace}:{name}", groups), authorizer.answer)


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise CelError("resource must not be empty")
    return ResourceCheck(check.authorizer, check.group, resource)


def _check_path(check: PathCheck, verb: str) -> DecisionValue:
    return DecisionValue(check.authorizer.answer(check.authorizer.user, RequestInfo(path=check.path, verb=verb)))


def _check_resource(check: ResourceCheck, verb: str) -> DecisionValue:
    info = RequestInfo(
        is_resource=True,
        verb=verb,
        group=check.group,
        version="*",
        resource=check.resource,
        subresource=check.subresource,
        namespace=check.namespace,
        name=check.name,
        field_selector=check.field_selector,
        label_selector=check.label_selector,
    )
    return DecisionValue(check.authorizer.answer(check.authorizer.user, info))


def _check_cost(_arguments: Sequence[object], _result: object) -> int:
    return CHECK_COST


def _selector_cost(arguments: Sequence[object], _result: object) -> int:
    length = actual_size(arguments[1])
    return LIST_CREATION_COST + string_cost(length) + string_cost(length, 0.5) * _REQUIREMENT_COST


def _method(
    overload: str,
    receiver: CelType,
    result: CelType,
    implementation: Callable[..., object],
    *,
    parameters: int = 1,
    cost: Cost | None = None,
) -> Overload:
    """Return the overload of a method with a number of strings as arguments."""
    return Overload(
        id=overload,
        parameters=(receiver, *[STRING] * parameters),
        result=result,
        implementation=implementation,
        member=True,
        cost=cost,
        undetermined_cost=cost,
    )


def _selector(overload: str, implementation: Callable[[ResourceCheck, str], ResourceCheck]) -> Overload:
    return _method(overload, RESOURCE_CHECK, RESOURCE_CHECK, implementation, cost=_selector_cost)


def _result(overload: str, result: CelType, get: Callable[[AuthorizationAnswer], object]) -> Overload:
    return _method(overload, _DECISION, result, lambda decision: get(decision.answer), parameters=0)


AUTHORIZATION: Final = Library(
    name="kubernetes.authz",
    functions={
        "path": (_method("authorizer_path", AUTHORIZER, _PATH, _path),),
        "group": (_method("authorizer_group", AUTHORIZER, _GROUP, GroupCheck),),
        "serviceAccount": (_method("authorizer_serviceaccount", AUTHORIZER, AUTHORIZER, _service_account, parameters=2),),
        "resource": (_method("groupcheck_resource", _GROUP, RESOURCE_CHECK, _resource),),
        "subresource": (
            _method("resourcecheck_subresource", RESOURCE_CHECK, RESOURCE_CHECK, lambda check, value: replace(check, subresource=value)),
        ),
        "namespace": (
            _method("resourcecheck_namespace", RESOURCE_CHECK, RESOURCE_CHECK, lambda check, value: replace(check, namespace=value)),
        ),
        "name": (_method("resourcecheck_name", RESOURCE_CHECK, RESOURCE_CHECK, lambda check, value: replace(check, name=value)),),
        "check": (
            _method("pathcheck_check", _PATH, _DECISION, _check_path, cost=_check_cost),
            _method("resourcecheck_check", RESOURCE_CHECK, _DECISION, _check_resource, cost=_check_cost),
        ),
        "errored": (_result("decision_errored", BOOL, lambda answer: answer.error is not None),),
        "error": (_result("decision_error", STRING, lambda answer: answer.error or ""),),
        "allowed": (_result("decision_allowed", BOOL, lambda answer: answer.is_allowed),),
        "reason": (_result("decision_reason", STRING, lambda answer: answer.reason),),
    },
)
AUTHORIZATION_SELECTORS: Final = Library(
    name="kubernetes.authzSelectors",
    functions={
        "fieldSelector": (_selector("authorizer_fieldselector", lambda check, value: replace(check, field_selector=value)),),
        "labelSelector": (_selector("authorizer_labelselector", lambda check, value: replace(check, label_selector=value)),),
    },
)
