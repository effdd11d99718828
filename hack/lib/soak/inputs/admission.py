"""Bad admission webhooks, and policies that are many or costly."""

import http
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from hack.lib.servers.webhook_server import WebhookServer
from hack.lib.soak.admission_webhook import LARGE, MARKER, ODD, PATCHES, SLOW
from hack.lib.soak.attack import MERGE_PATCH, Attack
from hack.lib.soak.collection import GADGET, GADGETS, GROUP, OPEN, definition, widget

_API: Final = "admissionregistration.k8s.io/v1"
_GROUP: Final = f"/apis/{_API}"
_EFFECT: Final = 30.0
"""Seconds until a configuration takes effect."""
_POLL: Final = 0.05
_PHASES: Final = {"Mutating": "m", "Validating": "v"}
Json = dict[str, Any]


def _rule() -> Json:
    return {"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["*"], "resources": [GADGETS]}


def _webhooks(webhook: WebhookServer, phase: str, hows: Sequence[str], timeout: int) -> Json:
    """Return a configuration with a webhook for each path, which guards the objects whose label names it."""
    hooks = [
        {
            "name": f"{how}.{GROUP}",
            "rules": [_rule()],
            "objectSelector": {"matchLabels": {_PHASES[phase]: how}},
            "clientConfig": webhook.client_config(f"/{how}"),
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": timeout,
        }
        for how in (*hows, MARKER)
    ]
    return {"apiVersion": _API, "kind": f"{phase}WebhookConfiguration", "metadata": {"name": "hostile"}, "webhooks": hooks}


@contextmanager
def _guarded(attack: Attack, *configurations: Json, markers: Sequence[Json]) -> Iterator[str]:
    """Serve a definition guarded by configurations for the block; yield the path of its collection.

    `markers` are labels of objects that the configurations deny once they are in effect.
    """
    with attack.defined(definition(GADGETS, GADGET, spec=OPEN)) as path:
        for one in configurations:
            attack.ask("POST", f"{_GROUP}/{_plural(one)}", one)
        deadline = time.monotonic() + _EFFECT
        for labels in markers:
            body = widget("marker", kind=GADGET, labels=labels)
            while attack.ask("POST", f"{path}?dryRun=All", body) == http.HTTPStatus.CREATED and time.monotonic() < deadline:
                time.sleep(_POLL)
        yield path
        for one in reversed(configurations):
            attack.ask("DELETE", f"{_GROUP}/{_plural(one)}/{one['metadata']['name']}")


def _plural(configuration: Json) -> str:
    kind: str = configuration["kind"].lower()
    return f"{kind[:-1]}ies" if kind.endswith("policy") else f"{kind}s"


def _write(attack: Attack, path: str, name: str, labels: Json, patience: int) -> None:
    """Create, change, apply and delete objects with labels at the same time; requests end after some seconds."""
    options = f"timeout={patience}s"
    obj = widget(name, kind=GADGET, labels=labels, a=1)
    calls: list[tuple[Any, ...]] = [
        ("POST", f"{path}?{options}", obj),
        ("POST", f"{path}?{options}&dryRun=All", widget(f"{name}-dry", kind=GADGET, labels=labels)),
        ("PATCH", f"{path}/kept?{options}", {"metadata": {"labels": labels}}, MERGE_PATCH),
        ("PATCH", f"{path}/{name}?{options}&fieldManager=m", obj, {"Content-Type": "application/apply-patch+yaml"}),
        ("DELETE", f"{path}?{options}&labelSelector={'%2C'.join(labels)}"),
    ]
    attack.together([partial(attack.ask, *call) for call in calls], len(calls))


def _answer(attack: Attack, hows: Sequence[str], patience: int) -> None:
    """Write objects that webhooks of both phases guard."""
    with tempfile.TemporaryDirectory(prefix="apiext-webhook-") as folder:
        module = "hack.lib.soak.admission_webhook"
        with WebhookServer(Path(folder), module) as webhook:
            chosen = attack.some(hows)
            configurations = [_webhooks(webhook, phase, chosen, patience) for phase in _PHASES]
            markers = [{label: MARKER} for label in _PHASES.values()]
            with _guarded(attack, *configurations, markers=markers) as path:
                attack.ask("POST", path, widget("kept", kind=GADGET))
                for number, how in enumerate(chosen):
                    for label in _PHASES.values():
                        _write(attack, path, f"gadget-{label}-{number}", {label: how}, patience)


def large_answers_of_admission_webhooks(attack: Attack) -> None:
    """Write through webhooks that answer with up to 100 MiB, or with far more in compressed form."""
    _answer(attack, LARGE, attack.size(10, 5))


def odd_answers_of_admission_webhooks(attack: Attack) -> None:
    """Write through webhooks that answer with another uid, deep JSON, syntax errors, redirects, or nothing."""
    _answer(attack, ODD, attack.size(10, 5))


def large_patches_of_admission_webhooks(attack: Attack) -> None:
    """Write through webhooks whose patches have 10,000 operations, copy what they copied, or are large or deep."""
    _answer(attack, PATCHES, attack.size(10, 5))


def slow_admission_webhooks(attack: Attack) -> None:
    """Write through webhooks that never answer, or byte by byte."""
    _answer(attack, SLOW, attack.size(10, 1))


def _policy(name: str, *expressions: str, **spec: Any) -> list[Json]:
    """Return a policy that guards the objects whose label names it, and its binding."""
    matched = {"resourceRules": [_rule()], "objectSelector": {"matchLabels": {"policy": name}}}
    validations = [{"expression": expression} for expression in expressions]
    members = {"matchConstraints": matched, "validations": validations} | spec
    bound = {"policyName": name, "validationActions": ["Deny"]}
    return [
        {"apiVersion": _API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": members},
        {"apiVersion": _API, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": bound},
    ]


def _mutations(name: str, *expressions: str) -> list[Json]:
    """Return a mutating policy like `_policy`, and its binding. The expressions make apply configurations."""
    constraints = {"resourceRules": [_rule() | {"operations": ["CREATE", "UPDATE"]}], "objectSelector": {"matchLabels": {"policy": name}}}
    mutations = [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": one}} for one in expressions]
    spec = {"matchConstraints": constraints, "mutations": mutations, "reinvocationPolicy": "IfNeeded"}
    return [
        {"apiVersion": _API, "kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec},
        {"apiVersion": _API, "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": {"policyName": name}},
    ]


def _loops(depth: int) -> str:
    names = [f"v{number}" for number in range(depth)]
    return "".join(f"object.spec.n.all({name}, " for name in names) + "true" + ")" * depth


def costly_policies(attack: Attack) -> None:
    """Evaluate policies that use up what a request may cost: loops, long texts, many variables and messages."""
    long = attack.size(90_000, 9_000)
    variables = [{"name": f"v{number}", "expression": _loops(2)} for number in range(attack.size(500, 50))]
    policies = {
        "loops": _policy("loops", *[_loops(8)] * 10),
        "texts": _policy("texts", "object.spec.t.split('').map(c, c + object.spec.t).join('').size() > 0"),
        "patterns": _policy("patterns", *["object.spec.t.matches('(x+x+)+y')"] * attack.size(200, 20)),
        "long": _policy("long", "true" + " && object.spec.t != 'a'" * (long // 30)),
        "variables": _policy("variables", "variables.v0", variables=variables),
        "formats": _policy("formats", "'%s'.format([object.spec]).size() < 0"),
        "mutations": _mutations("mutations", *["Object{spec: Object.spec{t: object.spec.t + object.spec.t}}"] * attack.size(40, 20)),
    }
    markers = [{"policy": "marker"}]
    configurations = [one for found in policies.values() for one in found]
    with _guarded(attack, *configurations, *_policy("marker", "false"), markers=markers) as path:
        for name in policies:
            spec = {"n": [1] * attack.size(300, 30), "t": "x" * attack.size(300_000, 30_000)}
            bodies = [widget(f"{name}-{number}", kind=GADGET, labels={"policy": name}, **spec) for number in range(4)]
            attack.together([partial(attack.ask, "POST", f"{path}?timeout=10s", body) for body in bodies])


def policies_by_the_hundred(attack: Attack) -> None:
    """Create many policies, and write while they appear and go."""
    made = [one for number in range(attack.size(500, 40)) for one in _policy(f"many-{number}", "object.spec.a > 1", "has(object.spec.a)")]
    with _guarded(attack, *made, *_policy("marker", "false"), markers=[{"policy": "marker"}]) as path:
        bodies = [widget(f"gadget-{number}", kind=GADGET, labels={"policy": f"many-{number}"}, a=1) for number in range(40)]
        attack.together([partial(attack.ask, "POST", path, body) for body in bodies])


INPUTS: Final = (
    large_answers_of_admission_webhooks,
    odd_answers_of_admission_webhooks,
    large_patches_of_admission_webhooks,
    slow_admission_webhooks,
    costly_policies,
    policies_by_the_hundred,
)
