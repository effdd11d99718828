"""The request that an access review asks about (kubernetes pkg/registry/authorization/util/helpers.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta.request import RequestInfo, UserInfo
from apiext.meta.selector_parser import parse_field_selector, parse_label_selector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from apiext.meta.encoding.json_codec import Object

_LABEL_TEXTS: Final[dict[str, str]] = {"In": "{key} in ({values})", "NotIn": "{key} notin ({values})", "Exists": "{key}"}
_LABEL_TEXTS["DoesNotExist"] = "!{key}"
_FIELD_TEXTS: Final = {"In": "{key}={values}", "NotIn": "{key}!={values}"}


def reviewed_user(spec: Object) -> UserInfo:
    """Return the user that a SubjectAccessReview asks about."""
    extra = {key: tuple(texts or ()) for key, texts in (spec.get("extra") or {}).items()}
    return UserInfo(name=spec.get("user", ""), groups=tuple(spec.get("groups") or ()), uid=spec.get("uid", ""), extra=extra)


def reviewed_request(spec: Object) -> tuple[RequestInfo, list[str]]:
    """Return the request that a valid review asks about, and messages about what it ignores."""
    resource = spec.get("resourceAttributes")
    if resource is None:
        other = spec["nonResourceAttributes"]
        return RequestInfo(path=other.get("path", ""), verb=other.get("verb", "")), []
    ignored: list[str] = []
    fields = _selector("fieldSelector", resource, parse_field_selector, _field_text, ignored)
    labels = _selector("labelSelector", resource, parse_label_selector, _label_text, ignored)
    info = RequestInfo(
        is_resource=True,
        verb=resource.get("verb", ""),
        group=resource.get("group", ""),
        version=resource.get("version") or "*",
        namespace=resource.get("namespace", ""),
        resource=resource.get("resource", ""),
        subresource=resource.get("subresource", ""),
        name=resource.get("name", ""),
        field_selector=fields,
        label_selector=labels,
    )
    return info, ignored


def _selector(name: str, resource: Object, parse: Callable[[str], object], text_of: Callable[[Object], str], ignored: list[str]) -> str:
    """Return a selector as text. Append a message to `ignored` if parts are invalid: without them the request asks for more."""
    selector = resource.get(name) or {}
    requirements: Iterable[Object] = selector.get("requirements") or ()
    if requirements:
        texts = list(map(text_of, requirements))
        known = list(filter(None, texts))
        if len(known) < len(texts):
            ignored.append(f"spec.resourceAttributes.{name} {'partially ' if known else ''}ignored due to parse error")
        return ",".join(known)
    raw: str = selector.get("rawSelector", "")
    try:
        parse(raw)
    except ValueError:
        ignored.append(f"spec.resourceAttributes.{name} ignored due to parse error")
        return ""
    return raw


def _label_text(requirement: Object) -> str:
    """Return a label requirement as text, empty for an unknown operator."""
    values = ",".join(requirement.get("values") or ())
    return _LABEL_TEXTS.get(requirement["operator"], "").format(key=requirement["key"], values=values)


def _field_text(requirement: Object) -> str:
    """Return a field requirement as text, empty for one that field selectors cannot express."""
    values: list[str] = requirement.get("values") or []
    return _FIELD_TEXTS.get(requirement["operator"], "").format(key=requirement["key"], values=values[0]) if len(values) == 1 else ""
