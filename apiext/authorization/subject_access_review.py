"""What a request is about, as another server is asked about it.

Mirrors apiserver plugin/pkg/authorizer/webhook (resourceAttributesFrom) and pkg/endpoints/filters/authorization.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.meta.selectors import Operator, parse_field_selector, parse_label_selector

if TYPE_CHECKING:
    from apiext.meta.request import RequestInfo, UserInfo

_OPERATORS: Final = {
    Operator.EQUALS: "In",
    Operator.DOUBLE_EQUALS: "In",
    Operator.IN: "In",
    Operator.NOT_EQUALS: "NotIn",
    Operator.NOT_IN: "NotIn",
    Operator.EXISTS: "Exists",
    Operator.DOES_NOT_EXIST: "DoesNotExist",
}


def review_spec(user: UserInfo, info: RequestInfo) -> dict[str, Any]:
    """The spec of a SubjectAccessReview; the same for all requests that differ in nothing that counts."""
    about: dict[str, Any]
    if info.is_resource:
        about = {"resourceAttributes": _resource_attributes(info)}
    else:
        about = {"nonResourceAttributes": _present(path=info.path, verb=info.verb)}
    extra = {key: list(texts) for key, texts in sorted(user.extra.items())}
    return about | _present(user=user.name, groups=list(user.groups), extra=extra, uid=user.uid)


def _resource_attributes(info: RequestInfo) -> dict[str, Any]:
    return _present(
        namespace=info.namespace,
        verb=info.verb,
        group=info.group,
        version=info.version,
        resource=info.resource,
        subresource=info.subresource,
        name=info.name,
        fieldSelector=_present(requirements=_field_requirements(info.field_selector)),
        labelSelector=_present(requirements=_label_requirements(info.label_selector)),
    )


def _field_requirements(text: str) -> list[dict[str, Any]]:
    """Requirements only narrow what is asked for: a selector that cannot be read counts as none."""
    try:
        requirements = parse_field_selector(text).requirements if text else ()
    except ValueError:
        return []
    return [{"key": one.field, "operator": _OPERATORS[one.operator], "values": [one.value]} for one in requirements]


def _label_requirements(text: str) -> list[dict[str, Any]]:
    try:
        requirements = parse_label_selector(text).requirements if text else ()
    except ValueError:
        return []
    known = (one for one in requirements if one.operator in _OPERATORS)
    return [{"key": one.key, "operator": _OPERATORS[one.operator], **_present(values=list(one.values))} for one in known]


def _present(**members: Any) -> dict[str, Any]:
    return {name: member for name, member in members.items() if member}
