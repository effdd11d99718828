"""What kube-apiserver enforces for the objects of a group, and nobody does once apiext serves it.

kube-apiserver runs no admission on requests that it proxies, and apiext keeps CEL rules of schemas without running them. What selects
single objects (selectors, match conditions, names of objects) or binds a policy is not weighed: what might be enforced is named.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

from apiext.definitions.validation import schemas
from apiext.meta.log import get_logger
from apiext.operator.api_clients import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from apiext.operator.api_clients import Api, Json

SERVES: Final = "apiext serves the group"
"""How the condition begins that says so."""
KINDS: Final = {
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
}
"""What configures admission, and its resources."""
_API: Final = "/apis/admissionregistration.k8s.io/v1"
_LOG: Final = get_logger(__name__)
_MAY_NOT: Final = frozenset({403, 404})
_LONGEST: Final = 700
"""Characters of names that are told; an event's message has room for 1,024."""
_WRITES: Final = ("CREATE", "UPDATE", "DELETE")


class _Request(NamedTuple):
    """Writes of one sort, as rules tell them apart."""

    group: str
    version: str
    resource: str
    subresource: str
    scope: str
    operation: str


async def listed(host: Api) -> dict[str, list[Json]]:
    """What configures admission, by kind. A kind that the operator may not read, or the host has not, is logged. Raises ApiError."""
    found: dict[str, list[Json]] = {}
    for kind, resource in KINDS.items():
        try:
            found[kind] = await host.items(f"{_API}/{resource}")
        except ApiError as error:
            if error.code not in _MAY_NOT:
                raise
            _LOG.warning("what will not be enforced cannot be told wholly", kind=kind, error=str(error))
    return found


def unenforced(crds: Iterable[Json], configured: Mapping[str, Sequence[Json]], own: str) -> list[str]:
    """The names of what is enforced for the objects of definitions by the host alone; `own` is the policy of the operator itself."""
    found = sorted(crds, key=lambda crd: str(crd["metadata"]["name"]))
    requests = [request for crd in found for request in _requests(crd)]
    rules = [f"CEL rules of {crd['metadata']['name']}" for crd in found if _has_rules(crd)]
    for kind, resource in KINDS.items():
        names = sorted(one["metadata"]["name"] for one in configured.get(kind, ()) if _catches(one, requests))
        rules += [f"{kind} {name}" for name in names if (resource, name) != ("validatingadmissionpolicies", own)]
    return rules


def warning(group: str, found: Sequence[str]) -> str:
    """What is said to who has a group served by apiext."""
    names = _bounded(found)
    return f"once apiext serves group {group}, nobody enforces {names}; to have them enforced give the group back: take the label away"


def serving(found: Sequence[str]) -> str:
    """The message of the condition while apiext serves the group."""
    return f"{SERVES}; not enforced: {_bounded(found)}" if found else SERVES


def _bounded(found: Sequence[str]) -> str:
    kept, length = [], 0
    for name in found:
        length += len(name) + 2
        if length > _LONGEST:
            break
        kept.append(name)
    left = len(found) - len(kept)
    return ", ".join(kept) + (f" and {left} more" if left else "")


def _has_rules(crd: Json) -> bool:
    return schemas.any_node({"versions": _served(crd)}, lambda node: bool(node.get("x-kubernetes-validations")))


def _served(crd: Json) -> list[Json]:
    return [version for version in crd["spec"]["versions"] if version.get("served")]


def _requests(crd: Json) -> Iterator[_Request]:
    """All sorts of writes that the objects of a definition know."""
    spec = crd["spec"]
    for version in _served(crd):
        sorts = [*product(("",), _WRITES), *product(sorted(version.get("subresources") or ()), ("UPDATE",))]
        for subresource, operation in sorts:
            yield _Request(spec["group"], version["name"], spec["names"]["plural"], subresource, spec["scope"], operation)


def _catches(configuration: Json, requests: Sequence[_Request]) -> bool:
    """Whether a configuration of admission is about some of these requests."""
    constraints = (configuration.get("spec") or {}).get("matchConstraints") or {}
    rules = [rule for hook in configuration.get("webhooks") or () for rule in hook.get("rules") or ()]
    rules += constraints.get("resourceRules") or ()
    without = [rule for rule in constraints.get("excludeResourceRules") or () if not rule.get("resourceNames")]
    return any(_matches(rules, one) and not _matches(without, one) for one in requests)


def _matches(rules: Iterable[Json], request: _Request) -> bool:
    return any(_rule_matches(rule, request) for rule in rules)


def _rule_matches(rule: Json, request: _Request) -> bool:
    """Whether a rule is about requests (the matcher of pkg/admission/plugin/webhook/predicates/rules)."""
    return (
        _names(rule.get("apiGroups"), request.group)
        and _names(rule.get("apiVersions"), request.version)
        and _names(rule.get("operations"), request.operation)
        and rule.get("scope", "*") in {"*", request.scope}
        and any(_is_of(resource, request) for resource in rule.get("resources") or ())
    )


def _is_of(resource: str, request: _Request) -> bool:
    name, _, subresource = resource.partition("/")
    return name in {"*", request.resource} and subresource in {"*", request.subresource}


def _names(items: Sequence[str] | None, wanted: str) -> bool:
    return not {"*", wanted}.isdisjoint(items or ())
