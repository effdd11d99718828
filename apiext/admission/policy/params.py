"""Parameters of bindings (CollectParams of apiserver pkg/admission/plugin/policy/generic/policy_dispatcher.go)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from apiext.admission.sources import NotReadyError, ParamQuery
from apiext.meta import errors
from apiext.meta.gvk import parse_group_version
from apiext.meta.objectmeta.label_selector import parse_selector

if TYPE_CHECKING:
    from apiext.admission.sources import ParamSource
    from apiext.meta.encoding.json_codec import Object

_DENY: Final = "Deny"


class ConfigurationFaultError(Exception):
    """A policy or binding cannot be applied. The text is the reference's."""


async def param_scope(source: ParamSource, kind: Mapping[str, Any]) -> bool:
    """Return whether the parameters of a policy have namespaces.

    Raises:
        ConfigurationFaultError: there is no such kind.
    """
    try:
        found = await source.is_namespaced(kind.get("apiVersion") or "", kind.get("kind") or "")
    except errors.StatusError:
        found = None
    if found is None:
        group, version = parse_group_version(kind.get("apiVersion") or "")
        raise ConfigurationFaultError(f"failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind.get('kind')}'")
    return found


async def collect_params(
    source: ParamSource, kind: Mapping[str, Any], reference: Mapping[str, Any], namespace: str, *, namespaced: bool
) -> Sequence[Object]:
    """Return the parameters of a binding that refers to some; nothing if missing ones are ignored.

    `namespace` is that of the request, `namespaced` the scope of the kind.

    Raises:
        ConfigurationFaultError: they cannot be found, and the write must not pass without them.
    """
    place = ""
    if namespaced:
        place = reference.get("namespace") or namespace
        if not place:
            raise ConfigurationFaultError("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    elif reference.get("namespace"):
        raise ConfigurationFaultError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    try:
        found = await source.params(_query(kind, reference, place))
    except NotReadyError as error:
        shown = f"&ParamKind{{APIVersion:{kind.get('apiVersion')},Kind:{kind.get('kind')},}}"
        raise ConfigurationFaultError(f"paramKind kind `{shown}` not yet synced to use for admission") from error
    except (errors.StatusError, ValueError) as error:
        raise ConfigurationFaultError(str(error)) from error
    if not found and reference.get("parameterNotFoundAction") == _DENY:
        raise ConfigurationFaultError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found


def _query(kind: Mapping[str, Any], reference: Mapping[str, Any], namespace: str) -> ParamQuery:
    """Return the query for the parameters. Raises ValueError for an invalid selector."""
    query = ParamQuery(kind.get("apiVersion") or "", kind.get("kind") or "", namespace)
    name, selector = reference.get("name") or "", reference.get("selector")
    if name:
        if selector is not None:
            raise ValueError("paramRef.name and paramRef.selector are mutually exclusive")
        return ParamQuery(query.api_version, query.kind, namespace, name=name)
    if selector is None:
        raise ValueError("one of name or selector must be provided")
    parse_selector(selector)
    return ParamQuery(query.api_version, query.kind, namespace, selector=selector_text(selector))


def selector_text(selector: Mapping[str, Any]) -> str:
    """Return a LabelSelector as the text of a query."""
    parts = [f"{label}={value}" for label, value in sorted((selector.get("matchLabels") or {}).items())]
    for one in selector.get("matchExpressions") or ():
        label, operator = one["key"], one["operator"]
        if operator in {"In", "NotIn"}:
            parts.append(f"{label} {operator.lower()} ({','.join(sorted(one.get('values') or ()))})")
        else:
            parts.append(label if operator == "Exists" else f"!{label}")
    return ",".join(parts)
