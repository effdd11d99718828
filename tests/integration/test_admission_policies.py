"""Policies of a standalone server, on each store: they guard writes at once, run aside if they cost much, and survive restarts."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from tests.support.builders import admission
from tests.support.builders.crds import widget, widget_crd, widgets_path
from tests.support.clients.client import MERGE_PATCH, Client, Reply

GROUP: Final = "policies.example.com"
WIDGETS: Final = widgets_path(GROUP)
CONFIG_MAPS: Final = "/api/v1/namespaces/default/configmaps"
RULE: Final = admission.rule("widgets", group=GROUP, operations=["CREATE", "UPDATE"])
"""Matches creates and updates of widgets."""
_DIGITS: Final = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
COSTLY: Final = f"{_DIGITS}.all(a, {_DIGITS}.all(b, {_DIGITS}.all(c, {_DIGITS}.all(d, a + b + c + d >= 0))))"
"""Costs about 100,000 units: far more than the event loop spends on a write."""


@pytest.fixture(scope="module", autouse=True)
def defined(server: ApiextServer) -> None:
    """Define widgets, and a parameter of policies."""
    with Client(server) as client:
        client.define(widget_crd(group=GROUP))
        client.must("POST", CONFIG_MAPS, {"metadata": {"name": "limits"}, "data": {"most": "3"}})


@contextmanager
def _installed(client: Client, *objects: dict[str, Any]) -> Iterator[None]:
    """Create configurations, and delete them in the end."""
    for obj in objects:
        client.must("POST", admission.collection(obj["kind"]), obj)
    yield
    for obj in objects:
        client.must("DELETE", f"{admission.collection(obj['kind'])}/{obj['metadata']['name']}")


def _limiting(name: str, *actions: str) -> list[dict[str, Any]]:
    """Return a policy about replicas with a ConfigMap as parameter."""
    validation = {
        "expression": "object.spec.replicas <= int(params.data.most)",
        "messageExpression": "'at most ' + params.data.most + ' in ' + namespaceObject.metadata.name",
        "reason": "Forbidden",
    }
    parameter = {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    return [
        admission.validating_policy(name, validation, rules=[RULE], paramKind=kind),
        admission.validating_binding(name, name, *actions, paramRef=parameter),
    ]


def test_a_policy_applies_from_the_answer_to_its_creation_until_its_deletion(client: Client) -> None:
    """It guards creates and updates, and what the parameter says later."""
    with _installed(client, *_limiting("limits")):
        refused = client.ask("POST", WIDGETS, widget("a", group=GROUP, replicas=4))
        client.must("POST", WIDGETS, widget("a", group=GROUP, replicas=3))
        changed = client.ask("PATCH", f"{WIDGETS}/a", {"spec": {"replicas": 5}}, MERGE_PATCH)
        client.merge(f"{CONFIG_MAPS}/limits", {"data": {"most": "5"}})
        client.merge(f"{WIDGETS}/a", {"spec": {"replicas": 5}})
        client.merge(f"{CONFIG_MAPS}/limits", {"data": {"most": "3"}})
    client.merge(f"{WIDGETS}/a", {"spec": {"replicas": 6}})
    client.must("DELETE", f"{WIDGETS}/a")

    text = "is forbidden: ValidatingAdmissionPolicy 'limits' with binding 'limits' denied request: at most 3 in default"
    assert [(reply.status, reply.json["message"]) for reply in (refused, changed)] == [(403, f'widgets.{GROUP} "a" {text}')] * 2


def test_a_policy_may_only_warn(client: Client) -> None:
    """The write passes with a Warning."""
    with _installed(client, *_limiting("warns", "Warn")):
        reply = client.ask("POST", f"{WIDGETS}?dryRun=All", widget("w", group=GROUP, replicas=4))

    assert reply.status == 201
    text = "Validation failed for ValidatingAdmissionPolicy 'warns' with binding 'warns': at most 3 in default"
    assert reply.headers["Warning"] == f'299 - "{text}"'


def test_mutations_come_first(client: Client) -> None:
    """A mutating policy changes what validation and other policies see. As in the reference, fields that it adds have no manager."""
    fewer = admission.applying("Object{spec: Object.spec{replicas: 3}}")
    label = admission.json_patching(
        "[JSONPatch{op: 'add', path: '/metadata/labels', value: {}},"
        " JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('example.com/by'), value: request.userInfo.username}]"
    )
    mutation = admission.mutating_policy("fewer", fewer, label, rules=[RULE])
    with _installed(client, *_limiting("limits-2"), mutation, admission.mutating_binding("fewer", "fewer")):
        created = client.must("POST", f"{WIDGETS}?fieldManager=me", widget("m", group=GROUP, replicas=9))
    client.must("DELETE", f"{WIDGETS}/m")

    assert created["spec"]["replicas"] == 3
    assert created["metadata"]["labels"] == {"example.com/by": "apiext-admin"}
    (entry,) = created["metadata"]["managedFields"]
    assert entry["manager"] == "me"
    assert entry["fieldsV1"] == {"f:spec": {".": {}, "f:replicas": {}, "f:size": {}}}


def test_types_of_expressions_are_checked(client: Client) -> None:
    """The status of a policy warns about fields that the definition does not have, and follows changes."""
    policies = admission.collection("ValidatingAdmissionPolicy")
    policy = admission.validating_policy("typed", "object.spec.none == 1", rules=[admission.rule("widgets", group=GROUP, versions=["v1"])])
    fits = [{"expression": "object.spec.replicas == 1 && object.metadata.name == request.name"}]
    with _installed(client, policy):
        checked = client.until(policies, "typed", _is_observed)
        client.merge(f"{policies}/typed", {"spec": {"validations": fits}})
        changed = client.until(policies, "typed", lambda found: found.get("status", {}).get("observedGeneration") == 2)

    (warning,) = checked["status"]["typeChecking"]["expressionWarnings"]
    assert warning["fieldRef"] == "spec.validations[0].expression"
    assert warning["warning"].startswith(f"{GROUP}/v1, Kind=Widget: ERROR: <input>:1:12: undefined field 'none'\n")
    assert changed["status"] == {"observedGeneration": 2}


def test_the_status_of_large_policies_is_written(client: Client) -> None:
    """Their size does not matter: a policy may be large by its metadata, by its spec or by the warnings about it."""
    policies = admission.collection("ValidatingAdmissionPolicy")
    rules = [admission.rule("widgets", group=GROUP, versions=["v1"])]
    padded = admission.validating_policy("padded", "object.spec.replicas == 1", rules=rules)
    padded["metadata"]["annotations"] = {"example.com/padding": "x" * 40_000}
    wrong = [{"expression": f"object.spec.none == {number}"} for number in range(1000)]
    with _installed(client, padded, admission.validating_policy("wrong", *wrong, rules=rules)):
        plain, warned = (client.until(policies, name, _is_observed) for name in ("padded", "wrong"))

    assert plain["status"] == {"observedGeneration": 1, "typeChecking": {}}
    assert len(warned["status"]["typeChecking"]["expressionWarnings"]) == 1000


def _is_observed(policy: dict[str, Any]) -> bool:
    return bool(policy.get("status", {}).get("observedGeneration") == 1)


def test_other_requests_do_not_wait_for_costly_policies(client: Client, server: ApiextServer) -> None:
    """They are answered while the policy is evaluated for small and large objects, deletes and kinds of the server."""
    rules = [admission.rule("widgets", group=GROUP), admission.rule("configmaps", group="")]
    policy = admission.validating_policy("costly", *[COSTLY] * 3, rules=rules)
    client.must("POST", WIDGETS, widget("gone", group=GROUP))
    with _installed(client, policy, admission.validating_binding("costly", "costly")), ThreadPoolExecutor(4) as pool:
        large = widget("large", group=GROUP, any={"text": "x" * 50_000})
        writes = (
            ("POST", f"{WIDGETS}?dryRun=All", widget("small", group=GROUP)),
            ("POST", f"{WIDGETS}?dryRun=All", large),
            ("POST", f"{CONFIG_MAPS}?dryRun=All", {"metadata": {"name": "costly"}}),
            ("DELETE", f"{WIDGETS}/gone?dryRun=All", None),
        )
        running = [pool.submit(_once, server, *write) for write in writes]
        answered = 0
        while not all(write.done() for write in running):
            client.must("GET", f"{CONFIG_MAPS}/limits")
            answered += 1
    client.must("DELETE", f"{WIDGETS}/gone")

    assert [write.result().status for write in running] == [201, 201, 201, 200]
    assert answered > len(writes)


def _once(server: ApiextServer, method: str, path: str, body: Any) -> Reply:
    with Client(server) as client:
        return client.ask(method, path, body)


def test_policies_apply_after_a_restart(own_server: ApiextServer) -> None:
    """The first write after a start meets them."""
    with Client(own_server) as client:
        client.define(widget_crd(group=GROUP))
        for obj in (
            admission.validating_policy("none", "false", rules=[RULE]),
            admission.validating_binding("none", "none"),
        ):
            client.must("POST", admission.collection(obj["kind"]), obj)
    own_server.restart()
    with Client(own_server) as client:
        reply = client.ask("POST", WIDGETS, widget("a", group=GROUP))

    assert (reply.status, reply.json["reason"]) == (422, "Invalid")
