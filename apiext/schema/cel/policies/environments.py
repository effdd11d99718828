"""Environments of admission expressions, by what they may refer to (createEnvForOpts of apiserver pkg/admission/plugin/cel/compile.go).

JSON patch library: apiserver pkg/cel/library/jsonpatch.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from apiext.schema.cel.environment import Environment
from apiext.schema.cel.libraries.authorization import AUTHORIZER, RESOURCE_CHECK
from apiext.schema.cel.libraries.costs import read_once
from apiext.schema.cel.libraries.library import Library, Overload
from apiext.schema.cel.policies.object_types import NAMESPACE, REQUEST, VARIABLES, AdmissionTypes
from apiext.schema.cel.types import DYN, STRING, CelType
from apiext.schema.cel.versions import new_environment, stored_environment

OBJECT: Final = "object"
OLD_OBJECT: Final = "oldObject"
PARAMS: Final = "params"
REQUEST_NAME: Final = "request"
NAMESPACE_NAME: Final = "namespaceObject"
AUTHORIZER_NAME: Final = "authorizer"
REQUEST_RESOURCE: Final = "authorizer.requestResource"
VARIABLES_NAME: Final = "variables"

_ESCAPES: Final = str.maketrans({"/": "~1", "~": "~0"})


def _escape(text: str) -> str:
    return text.translate(_ESCAPES)


JSON_PATCH_PATHS: Final = Library(
    name="kubernetes.jsonpatch",
    functions={
        "jsonpatch.escapeKey": (
            Overload(
                id="string_jsonpatch_escapeKey_string",
                parameters=(STRING,),
                result=STRING,
                implementation=_escape,
                cost=read_once,
                undetermined_cost=read_once,
            ),
        ),
    },
)


@dataclass(frozen=True, slots=True)
class Declarations:
    """What an expression may refer to, beside object, oldObject, request and namespaceObject."""

    params: bool = False
    """Whether there is `params`: the policy has a paramKind."""
    authorizer: bool = True
    """Whether there are `authorizer` and `authorizer.requestResource`; messages have none."""
    patches: bool = False
    """Whether there are the types Object and JSONPatch and the function jsonpatch.escapeKey: for mutations."""


def admission_environment(declarations: Declarations, variables: Mapping[str, CelType] | None = None, *, stored: bool) -> Environment:
    """Return the environment of expressions.

    Args:
        declarations: What they may refer to.
        variables: Types of the variables of the policy, which may grow later; None for none and no name `variables`.
        stored: Whether the expressions are not new: they may use everything that any version accepts.
    """
    environment = _environment(declarations, stored=stored)
    if variables is None:
        return environment
    return environment.with_variables({VARIABLES_NAME: VARIABLES}, AdmissionTypes(variables, patches=declarations.patches))


@cache
def _environment(declarations: Declarations, *, stored: bool) -> Environment:
    base = stored_environment() if stored else new_environment()
    names = {OBJECT: DYN, OLD_OBJECT: DYN, NAMESPACE_NAME: NAMESPACE, REQUEST_NAME: REQUEST}
    if declarations.params:
        names[PARAMS] = DYN
    if declarations.authorizer:
        names |= {AUTHORIZER_NAME: AUTHORIZER, REQUEST_RESOURCE: RESOURCE_CHECK}
    if declarations.patches:
        base = replace(base, functions={**base.functions, **JSON_PATCH_PATHS.functions})
    return base.with_variables(names, AdmissionTypes(None, patches=declarations.patches))
