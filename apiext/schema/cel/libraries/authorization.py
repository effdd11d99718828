"""Authorization checks (apiserver pkg/cel/library/authz.go): their types and signatures.

Rules of custom resources have no variable of these types, so that no call is ever evaluated.
"""

from __future__ import annotations

from typing import Final

from apiext.schema.cel.errors import NO_SUCH_OVERLOAD, CelError
from apiext.schema.cel.libraries.library import Library, Overload
from apiext.schema.cel.types import BOOL, STRING, CelType

_AUTHORIZER: Final = CelType("kubernetes.authorization.Authorizer")
_PATH: Final = CelType("kubernetes.authorization.PathCheck")
_GROUP: Final = CelType("kubernetes.authorization.GroupCheck")
_RESOURCE: Final = CelType("kubernetes.authorization.ResourceCheck")
_DECISION: Final = CelType("kubernetes.authorization.Decision")


def _evaluate(*_arguments: object) -> object:
    raise CelError(NO_SUCH_OVERLOAD)


def _method(overload: str, receiver: CelType, result: CelType, parameters: int = 1) -> Overload:
    """Return the overload of a method with a number of strings as arguments."""
    return Overload(id=overload, parameters=(receiver, *[STRING] * parameters), result=result, implementation=_evaluate, member=True)


AUTHORIZATION: Final = Library(
    name="kubernetes.authz",
    functions={
        "path": (_method("authorizer_path", _AUTHORIZER, _PATH),),
        "group": (_method("authorizer_group", _AUTHORIZER, _GROUP),),
        "serviceAccount": (_method("authorizer_serviceaccount", _AUTHORIZER, _AUTHORIZER, 2),),
        "resource": (_method("groupcheck_resource", _GROUP, _RESOURCE),),
        "subresource": (_method("resourcecheck_subresource", _RESOURCE, _RESOURCE),),
        "namespace": (_method("resourcecheck_namespace", _RESOURCE, _RESOURCE),),
        "name": (_method("resourcecheck_name", _RESOURCE, _RESOURCE),),
        "check": (_method("pathcheck_check", _PATH, _DECISION), _method("resourcecheck_check", _RESOURCE, _DECISION)),
        "errored": (_method("decision_errored", _DECISION, BOOL, 0),),
        "error": (_method("decision_error", _DECISION, STRING, 0),),
        "allowed": (_method("decision_allowed", _DECISION, BOOL, 0),),
        "reason": (_method("decision_reason", _DECISION, STRING, 0),),
    },
)
AUTHORIZATION_SELECTORS: Final = Library(
    name="kubernetes.authzSelectors",
    functions={
        "fieldSelector": (_method("authorizer_fieldselector", _RESOURCE, _RESOURCE),),
        "labelSelector": (_method("authorizer_labelselector", _RESOURCE, _RESOURCE),),
    },
)
