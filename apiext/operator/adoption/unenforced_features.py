"""Features that kube-apiserver enforces for the objects of a group, but no server enforces while apiext serves the group.

kube-apiserver runs no admission on requests that it proxies. Conditions on single objects (selectors, match conditions, names) and
policy bindings are not evaluated: the report names every feature that may apply.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

from apiext.meta.log import get_logger
from apiext.operator.api_clients import ApiClient, ApiError, Json

SERVES: Final = "apiext serves the group"
"""Start of the message of the condition Serving."""
KINDS: Final = {
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
}
"""Kinds that configure admission, and their resources."""
_API: Final = "/apis/admissionregistration.k8s.io/v1"
_LOG: Final = get_logger(__name__)
_UNREADABLE: Final = frozenset({403, 404})
_MAX_CHARACTERS: Final = 700
"""Most characters of names in a message; the message of an Event has room for 1,024."""
_WRITES: Final = ("CREATE", "UPDATE", "DELETE")


class _Request(NamedTuple):
    """The attributes of a write that admission rules match."""

    group: str
    version: str
    resource: str
    subresource: str
    scope: str
    operation: str


async def list_admission(host: ApiClient) -> dict[str, list[Json]]:
    """Return the admission configuration of the host by kind; log a kind that is missing or forbidden. Raises ApiError."""
    found: dict[str, list[Json]] = {}
    for kind, resource in KINDS.items():
        try:
            found[kind] = await host.items(f"{_API}/{resource}")
        except ApiError as error:
            if error.code not in _UNREADABLE:
                raise
            _LOG.warning("admission configuration cannot be read, report of unenforced features is incomplete", kind=kind, error=str(error))
    return found


def unenforced(crds: Iterable[Json], configured: Mapping[str, Sequence[Json]], own: str) -> list[str]:
    """Return the features that only the host enforces for these definitions. `own` is the name of the operator's policy."""
    requests = [request for crd in crds for request in _requests(crd)]
    found = []
    for kind, resource in KINDS.items():
        names = sorted(one["metadata"]["name"] for one in configured.get(kind, ()) if _applies(one, requests))
        found += [f"{kind} {name}" for name in names if (resource, name) != ("validatingadmissionpolicies", own)]
    return found


def warning(group: str, found: Sequence[str]) -> str:
    """Return the message of the event NotEnforced."""
    names = _bounded(found)
    return f"once apiext serves group {group}, it does not enforce {names}; to have them enforced, hand the group back: remove the label"


def serving(found: Sequence[str]) -> str:
    """Return the message of the condition Serving."""
    return f"{SERVES}; not enforced: {_bounded(found)}" if found else SERVES


def _bounded(found: Sequence[str]) -> str:
    kept, length = [], 0
    for name in found:
        length += len(name) + 2
        if length > _MAX_CHARACTERS:
            break
        kept.append(name)
    left = len(found) - len(kept)
    return ", ".join(kept) + (f" and {left} more" if left else "")


def _served(crd: Json) -> list[Json]:
    return [version for version in crd["spec"]["versions"] if version.get("served")]


def _requests(crd: Json) -> Iterator[_Request]:
    """Yield all kinds of writes to the objects of a definition."""
    spec = crd["spec"]
    for version in _served(crd):
        writes = [*product(("",), _WRITES), *product(sorted(version.get("subresources") or ()), ("UPDATE",))]
        for subresource, operation in writes:
            yield _Request(spec["group"], version["name"], spec["names"]["plural"], subresource, spec["scope"], operation)


def _applies(configuration: Json, requests: Sequence[_Request]) -> bool:
    """Return whether an admission configuration matches one of the requests."""
    constraints = (configuration.get("spec") or {}).get("matchConstraints") or {}
    rules = [rule for hook in configuration.get("webhooks") or () for rule in hook.get("rules") or ()]
    rules += constraints.get("resourceRules") or ()
    without = [rule for rule in constraints.get("excludeResourceRules") or () if not rule.get("resourceNames")]
    return any(_matches(rules, one) and not _matches(without, one) for one in requests)


def _matches(rules: Iterable[Json], request: _Request) -> bool:
    return any(_rule_matches(rule, request) for rule in rules)


def _rule_matches(rule: Json, request: _Request) -> bool:
    """Return whether a rule matches a request (pkg/admission/plugin/webhook/predicates/rules)."""
    return (
        _contains(rule.get("apiGroups"), request.group)
        and _contains(rule.get("apiVersions"), request.version)
        and _contains(rule.get("operations"), request.operation)
        and rule.get("scope", "*") in {"*", request.scope}
        and any(_matches_resource(resource, request) for resource in rule.get("resources") or ())
    )


def _matches_resource(resource: str, request: _Request) -> bool:
    name, _, subresource = resource.partition("/")
    return name in {"*", request.resource} and subresource in {"*", request.subresource}


def _contains(items: Sequence[str] | None, wanted: str) -> bool:
    return not {"*", wanted}.isdisjoint(items or ())
