"""Measures creates that webhooks and policies guard, and creates beside many that guard others."""

import base64
import functools
import http.client
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from hack.lib.bench import workload
from hack.lib.bench.client import Client
from hack.lib.bench.conversion import Send, Webhook

LABEL: Final = "creates with admission"
WEBHOOKS: Final = 50
POLICIES: Final = 100
_MATCHING: Final = 10
_PATIENCE: Final = 30.0
_GROUP: Final = "/apis/admissionregistration.k8s.io/v1"
_PLURAL: Final = "guardeds"
_PATH: Final = workload.collection(_PLURAL)
_MARKER: Final = {"labels": {"marker": "yes"}}
_CHECK: Final = "object.spec.minimum <= object.spec.maximum && size(object.spec.sent) > 1"
Json = dict[str, Any]


def measure(client: Client, webhook: Webhook, send: Send, count: int) -> dict[str, float]:
    """Return the rates of creates: alone, beside webhooks and policies of others, and guarded."""
    crd = workload.crd(_PLURAL, "Guarded")
    client.serve(crd)
    client.wait_until_writable(crd)
    rate = functools.partial(_rate, client, send, count)
    others = [_hooks("validating", f"other-{number}", webhook, "others") for number in range(WEBHOOKS)]
    others += [one for number in range(POLICIES) for one in policy(f"other-{number}", "others")]
    policies = [one for number in range(POLICIES) for one in policy(f"p{number}", _PLURAL if number < _MATCHING else "others")]
    called, denied = functools.partial(_called, client, webhook), functools.partial(_denied, client)
    return {
        "create, per second": rate([], lambda: True),
        f"create beside {WEBHOOKS} webhooks and {POLICIES} policies of others, per second": rate([*others, *_marker()], denied),
        "create with a validating webhook, per second": rate([_hooks("validating", "one", webhook, _PLURAL)], called),
        "create with a mutating webhook, per second": rate([_hooks("mutating", "one", webhook, _PLURAL)], called),
        f"create with {POLICIES} policies, {_MATCHING} of which match, per second": rate([*policies, *_marker()], denied),
    }


def _rate(client: Client, send: Send, count: int, configurations: Sequence[Json], in_effect: Callable[[], bool]) -> float:
    """Return the creates per second once configurations are in effect, and remove them and the objects."""
    for one in configurations:
        code = client.call("POST", path(one), one)
        if code != http.client.CREATED:
            raise RuntimeError(f"creating {one['kind']} {one['metadata']['name']} failed with {code}")
    _wait(in_effect)
    body = workload.filled("Guarded", {"name": "guarded-{i}", "namespace": workload.NAMESPACE, "labels": {"app": "bench"}}, {"sent": "{t}"})
    post = {"Method": "POST", "Path": _PATH, "Body": body, "ContentType": "application/json"}
    found = send(**post, Clients=workload.CLIENTS, Requests=count, Objects=count, Seconds=300)
    for one in configurations:
        client.call("DELETE", f"{path(one)}/{one['metadata']['name']}")
    client.call("DELETE", _PATH)
    if configurations:
        _wait(lambda: not in_effect())
    return found.rate


def _called(client: Client, webhook: Webhook) -> bool:
    """Return whether a create calls the webhook."""
    before, _ = webhook.counts()
    client.call("POST", f"{_PATH}?dryRun=All", _object({"labels": {"a": "b"}}))
    return webhook.counts()[0] > before


def _denied(client: Client) -> bool:
    """Return whether a policy denies the marker."""
    return client.call("POST", f"{_PATH}?dryRun=All", _object(_MARKER)) == http.client.UNPROCESSABLE_ENTITY


def _object(metadata: Json) -> Json:
    return {
        "apiVersion": f"{workload.GROUP}/v1",
        "kind": "Guarded",
        "metadata": {"name": "sample"} | metadata,
        "spec": {"sent": "now"},
    }


def _wait(condition: Callable[[], bool]) -> None:
    start = time.monotonic()
    while not condition():
        if time.monotonic() > start + _PATIENCE:
            raise RuntimeError(f"configurations of admission have no effect after {_PATIENCE:g} s")
        time.sleep(0.02)


def _hooks(phase: str, name: str, webhook: Webhook, resource: str) -> Json:
    path = "mutate" if phase == "mutating" else "validate"
    bundle = base64.b64encode(webhook.certificate.encode()).decode()
    hook = {
        "name": f"{name}.bench.apiext.dev",
        "rules": [_rule(resource)],
        "clientConfig": {"url": f"{webhook.url}/{path}", "caBundle": bundle},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return _configuration(f"{phase.capitalize()}WebhookConfiguration", name, {"webhooks": [hook]})


def policy(name: str, resource: str, expression: str = _CHECK, **constraints: Json) -> list[Json]:
    """Return a policy with its binding."""
    matched = {"resourceRules": [_rule(resource)]} | constraints
    spec = {"matchConstraints": matched, "validations": [{"expression": expression}]}
    policy = _configuration("ValidatingAdmissionPolicy", name, {"spec": spec})
    bound = {"policyName": name, "validationActions": ["Deny"]}
    return [policy, _configuration("ValidatingAdmissionPolicyBinding", name, {"spec": bound})]


def _marker() -> list[Json]:
    """Return a policy that denies the marker. It is the last one, so that all others are in effect when it is."""
    return policy("zz-marker", _PLURAL, "false", objectSelector={"matchLabels": _MARKER["labels"]})


def _rule(resource: str) -> Json:
    return {"apiGroups": [workload.GROUP], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}


def _configuration(kind: str, name: str, members: Json) -> Json:
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}} | members


def path(configuration: Json) -> str:
    """Return the path to which a configuration is sent."""
    kind: str = configuration["kind"].lower()
    return f"{_GROUP}/{kind[:-1]}ies" if kind.endswith("policy") else f"{_GROUP}/{kind}s"
