"""Webhooks and policies of a cluster, for a group of kube-apiserver and for those that apiext serves."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.differential.masking import masked
from hack.lib.differential.pair import nested
from hack.lib.servers.aggregated_permissions import server_rules
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.caller import Caller
from tests.e2e.adopted_group import MERGE
from tests.e2e.cluster import LABELLED, PLAIN, SERVED, Cluster, until
from tests.support.admission_webhook import AdmissionWebhook, denying, patching
from tests.support.builders.admission import (
    applying,
    collection,
    hook,
    mutating,
    mutating_binding,
    mutating_policy,
    rule,
    validating,
    validating_binding,
    validating_policy,
)
from tests.support.builders.crds import widget, widget_crd, widgets_path

pytestmark = pytest.mark.slow
ALL: Final = (PLAIN, *SERVED)
Json = dict[str, Any]
APPLY: Final = [("Content-Type", "application/apply-patch+yaml")]
NAMESPACES: Final = "/api/v1/namespaces"
_GENERATED: Final = re.compile(r"gen-[a-z0-9]{5}\b")


@pytest.fixture(scope="module")
def webhook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdmissionWebhook]:
    """Provide the server of all webhooks."""
    with AdmissionWebhook(tmp_path_factory.mktemp("webhook")) as started:
        yield started


@pytest.fixture(autouse=True)
def clean(cluster: Cluster, webhook: AdmissionWebhook) -> Iterator[None]:
    """Delete the objects after each test, and wait until its configurations have no effect."""
    yield
    until(lambda: all(_is_unguarded(cluster, webhook, group) for group in ALL))
    webhook.answers.clear()
    for group in ALL:
        cluster.host.must("DELETE", widgets_path(group))


def _is_unguarded(cluster: Cluster, webhook: AdmissionWebhook, group: str) -> bool:
    webhook.calls.clear()
    code, answer = cluster.host.ask("POST", f"{widgets_path(group)}?dryRun=All", widget("probe", group=group))
    return code == 201 and answer["spec"] == {"size": "m"} and not webhook.calls


def everything(*resources: str, groups: tuple[str, ...] = ALL, **more: Any) -> Json:
    """Return a rule for resources of all groups."""
    return rule(*(resources or ("widgets",)), apiGroups=list(groups), **more)


@contextmanager
def installed(cluster: Cluster, *objects: Json) -> Iterator[None]:
    """Create webhook configurations and policies on the host, and delete them at the end."""
    with ExitStack() as stack:
        for one in objects:
            path = collection(one["kind"])
            cluster.host.must("POST", path, one)
            stack.callback(cluster.host.must, "DELETE", f"{path}/{one['metadata']['name']}")
        yield


def attempt(cluster: Cluster, group: str, name: str = "probe", *, namespace: str = "default", **metadata: Any) -> tuple[int, str]:
    """Return the answer to a dry run of a create, with the group's name replaced."""
    body = widget(name, group=group, metadata=metadata)
    code, answer = cluster.host.ask("POST", f"{widgets_path(group, namespace)}?dryRun=All", body)
    return code, str(answer.get("message", "")).replace(group, "GROUP")


def refused(cluster: Cluster, group: str) -> bool:
    """Return whether a create is refused."""
    return attempt(cluster, group)[0] >= 400


def effective(holds: Callable[[str], bool]) -> None:
    """Wait until a condition has held for the host's group and for all others."""
    waiting = set(ALL)

    def holds_everywhere() -> bool:
        waiting.difference_update([group for group in waiting if holds(group)])
        return not waiting

    until(holds_everywhere, "the condition for all groups")


def test_asks_webhooks_the_same(cluster: Cluster, webhook: AdmissionWebhook) -> None:
    """Send webhooks the same reviews for each kind of write, with the user whom the host has authenticated."""
    cluster.grant("widget-editor", [{"apiGroups": list(ALL), "resources": ["*"], "verbs": ["*"]}], "ann")
    ann = cluster.through_host("ann", "devs", "ops")
    resources = ("widgets", "widgets/status", "widgets/scale")
    writes, all_of_them = everything(*resources, operations=["CREATE", "UPDATE"]), everything(*resources)
    webhook.answers["m"] = patching({"op": "add", "path": "/metadata/labels", "value": {"set": "here"}}, auditAnnotations={"a": "b"})
    objects = (
        mutating("e2e-asks", hook("m.example.com", writes, clientConfig=webhook.client_config("all", "m"), reinvocationPolicy="IfNeeded")),
        validating("e2e-asks", hook("v.example.com", all_of_them, clientConfig=webhook.client_config("all", "v"))),
    )
    with installed(cluster, *objects):
        effective(lambda group: _is_asked(cluster, webhook, group))
        until(lambda: ann.ask("GET", widgets_path(PLAIN))[0] == 200 and ann.ask("GET", widgets_path(LABELLED))[0] == 200)
        asked = {group: list(_reviews(ann, webhook, group)) for group in ALL}

    assert [len(reviews) for reviews in asked[PLAIN]] == [2, 2, 2, 2, 2, 2, 2, 0, 2, 1, 2]
    assert [line for group in SERVED for line in nested(group, asked[PLAIN], asked[group])] == []


def _is_asked(cluster: Cluster, webhook: AdmissionWebhook, group: str) -> bool:
    webhook.calls.clear()
    assert attempt(cluster, group)[0] == 201
    return {call.hook for call in webhook.calls} == {"m", "v"}


def _reviews(user: Caller, webhook: AdmissionWebhook, group: str) -> Iterator[list[Json]]:
    """Yield what webhooks are asked for each write."""
    path = widgets_path(group)
    applied = widget("one", group=group, replicas=4)
    writes: list[tuple[str, str, Any, Any]] = [
        ("POST", f"{path}?fieldManager=me&fieldValidation=Strict", widget("one", group=group, replicas=1), ()),
        ("POST", f"{path}?dryRun=All", {**widget("", group=group), "metadata": {"generateName": "gen-"}}, ()),
        ("PATCH", f"{path}/one", {"spec": {"replicas": 2}}, MERGE),
        ("PATCH", f"{path}/one/status", {"status": {"replicas": 2}}, MERGE),
        ("PATCH", f"{path}/one/scale", {"spec": {"replicas": 3}}, MERGE),
        ("PATCH", f"{path}/one?fieldManager=applier&force=true", applied, APPLY),
        ("PATCH", f"{path}/two?fieldManager=applier", widget("two", group=group, replicas=4), APPLY),
        ("PATCH", f"{path}/missing", {"spec": {"replicas": 2}}, MERGE),
        ("PUT", f"{path}/two", None, ()),
        ("DELETE", f"{path}/one", {"propagationPolicy": "Background"}, ()),
        ("DELETE", path, None, ()),
    ]
    user.must("POST", path, widget("three", group=group))
    webhook.calls.clear()
    for method, target, body, headers in writes:
        user.must("GET", path)  # the cache has the write before: else an update conflicts, and webhooks are asked again
        sent = {**user.must("GET", target), "spec": {"replicas": 9}} if method == "PUT" else body
        code, answer = user.ask(method, target, sent, headers)
        assert code < 300 or target.endswith("missing"), answer
        calls, webhook.calls[:] = list(webhook.calls), []
        text = json.dumps([{"hook": call.hook, "query": call.query, "review": call.review} for call in calls])
        text = _GENERATED.sub("gen-*", text.replace(group, "GROUP"))
        yield masked(sorted(json.loads(text), key=_turn))


def _turn(one: Json) -> tuple[str, str]:
    """Return the place of a call in comparisons: by webhook and object, since a collection's objects are deleted at the same time."""
    request = one["review"]["request"]
    return one["hook"], ((request.get("object") or request["oldObject"])["metadata"]).get("name", "")


def test_configurations_take_effect_together(cluster: Cluster, webhook: AdmissionWebhook) -> None:
    """Apply a webhook, its change and its deletion, and a policy."""
    webhook.answers["no"] = denying("not today")
    config = webhook.client_config("all", "no")
    with installed(cluster, validating("e2e-together", hook("no.example.com", everything(), clientConfig=config))):
        effective(lambda group: refused(cluster, group))
        denials = {group: attempt(cluster, group) for group in ALL}
        cluster.host.must(
            "PATCH",
            f"{collection('ValidatingWebhookConfiguration')}/e2e-together",
            {"webhooks": [hook("no.example.com", everything("gadgets"), clientConfig=config)]},
            MERGE,
        )
        effective(lambda group: not refused(cluster, group))
    with installed(cluster, validating_policy("e2e-no", "false", rules=[everything()]), validating_binding("e2e-no", "e2e-no")):
        effective(lambda group: refused(cluster, group))
        answers = {group: attempt(cluster, group) for group in ALL}
    effective(lambda group: not refused(cluster, group))

    assert set(denials.values()) == {(400, 'admission webhook "no.example.com" denied the request: not today')}
    assert len(set(answers.values())) == 1


def test_reads_namespaces_and_params(cluster: Cluster) -> None:
    """Decide by labels of namespaces, by ConfigMaps, by custom resources that apiext serves itself, and by the user's rights."""
    namespaces = {"team-a": {"team": "a"}, "team-b": {"team": "b"}, "team-c": {}}
    for name, labels in namespaces.items():
        cluster.host.must("POST", NAMESPACES, {"metadata": {"name": name, "labels": labels, "annotations": {"most": f"{len(name)}"}}})
    maps = f"{NAMESPACES}/team-a/configmaps"
    cluster.host.must("POST", maps, {"metadata": {"name": "limits"}, "data": {"prefix": "a-"}})
    cluster.host.must("POST", widgets_path(LABELLED, "team-b"), widget("limits", group=LABELLED, replicas=3))
    cluster.grant("param-reader", [{"apiGroups": [LABELLED], "resources": ["widgets"], "verbs": ["get", "list", "watch"]}], "apiext")
    with_label = {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}}
    by_map = validating_policy(
        "e2e-maps",
        {"expression": "object.metadata.name.startsWith(params.data.prefix)", "messageExpression": "'prefix ' + params.data.prefix"},
        {"expression": "namespaceObject.metadata.annotations['most'] == '6'", "message": "annotations"},
        {"expression": "authorizer.group('').resource('secrets').check('create').allowed()", "message": "may not create secrets"},
        rules=[everything()],
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        matchConditions=[{"name": "not-limits", "expression": "object.metadata.name != 'limits'"}],
    )
    by_widget = validating_policy(
        "e2e-widgets",
        {"expression": "has(object.spec.replicas) && object.spec.replicas <= params.spec.replicas", "message": "too many"},
        rules=[everything()],
        paramKind={"apiVersion": f"{LABELLED}/v1", "kind": "Widget"},
    )
    named = {"name": "limits", "parameterNotFoundAction": "Allow"}
    bindings = (
        validating_binding("e2e-maps", "e2e-maps", paramRef=named, matchResources=with_label),
        validating_binding("e2e-widgets", "e2e-widgets", paramRef=named),
    )
    with installed(cluster, by_map, by_widget, *bindings):
        effective(lambda group: attempt(cluster, group, "b", namespace="team-a")[0] != 201)
        effective(lambda group: attempt(cluster, group, "b", namespace="team-b")[0] != 201)
        cases = [(name, namespace) for namespace in namespaces for name in ("a-1", "b-1")]
        answers = {group: [attempt(cluster, group, name, namespace=namespace) for name, namespace in cases] for group in ALL}

    assert [code for code, _ in answers[PLAIN]] == [201, 422, 422, 422, 201, 201]
    assert {group: answers[group] == answers[PLAIN] for group in ALL} == dict.fromkeys(ALL, True)


def test_mutates_by_policies_and_webhooks(cluster: Cluster, webhook: AdmissionWebhook) -> None:
    """Change objects by a MutatingAdmissionPolicy and then by a webhook as the host does, with the same managers of fields."""
    webhook.answers["m"] = patching({"op": "add", "path": "/spec/size", "value": "l"})
    objects = (
        mutating_policy("e2e-sets", applying("Object{spec: Object.spec{replicas: 7}}"), rules=[everything()]),
        mutating_binding("e2e-sets", "e2e-sets"),
        mutating("e2e-sets", hook("m.example.com", everything(), clientConfig=webhook.client_config("all", "m"))),
    )

    def made(group: str) -> Any:
        code, answer = cluster.host.ask("POST", f"{widgets_path(group)}?dryRun=All&fieldManager=me", widget("made", group=group))
        assert code == 201, answer
        return answer

    with installed(cluster, *objects):
        effective(lambda group: made(group)["spec"] == {"replicas": 7, "size": "l"})
        found = [masked(json.loads(json.dumps(made(group)).replace(group, "GROUP"))) for group in ALL]

    assert found == [found[0]] * len(ALL)


def test_charges_quotas_last(cluster: Cluster, webhook: AdmissionWebhook) -> None:
    """Charge a quota only for creates that webhooks admit, not for updates, dry runs and other writes, as the host does."""
    process = cluster.plane.controllers("--controllers=resourcequota-controller")
    namespace, webhook.answers["no"] = "charged", denying("no")
    cluster.host.must("POST", NAMESPACES, {"metadata": {"name": namespace}})
    hard = {f"count/widgets.{group}": "2" for group in ALL}
    cluster.host.must("POST", f"{NAMESPACES}/{namespace}/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    marked = {"matchLabels": {"refuse": "me"}}
    config = validating(
        "e2e-charge", hook("no.example.com", everything(), objectSelector=marked, clientConfig=webhook.client_config("a", "no"))
    )

    def used() -> Json:
        status = cluster.host.must("GET", f"{NAMESPACES}/{namespace}/resourcequotas/q").get("status", {})
        return {group: status.get("used", {}).get(f"count/widgets.{group}") for group in ALL}

    process.start()
    try:
        until(lambda: set(used().values()) == {"0"})
        with installed(cluster, config):
            effective(lambda group: attempt(cluster, group, labels={"refuse": "me"})[0] == 400)
            codes = {group: _charged(cluster, group, namespace) for group in ALL}
            counts = used()
    finally:
        process.stop()

    assert codes[PLAIN] == [400, 201, 201, 200, 200, 201, 403, 403, 200]
    assert set(map(tuple, codes.values())) == {tuple(codes[PLAIN])}
    assert set(counts.values()) == {"2"}


def _charged(cluster: Cluster, group: str, namespace: str) -> list[int]:
    """Return the answers to writes in a namespace whose quota allows two objects."""
    path, apply = widgets_path(group, namespace), [("Content-Type", "application/apply-patch+yaml")]
    refused_one = widget("refused", group=group, metadata={"labels": {"refuse": "me"}})
    writes: list[tuple[str, str, Any, Any]] = [
        ("POST", path, refused_one, ()),
        ("POST", path, widget("one", group=group), ()),
        ("POST", f"{path}?dryRun=All", widget("dry", group=group), ()),
        ("PATCH", f"{path}/one", {"spec": {"replicas": 2}}, MERGE),
        ("PATCH", f"{path}/one/status", {"status": {"replicas": 2}}, MERGE),
        ("PATCH", f"{path}/two?fieldManager=me", widget("two", group=group), apply),
        ("PATCH", f"{path}/three?fieldManager=me", widget("three", group=group), apply),
        ("POST", path, widget("three", group=group), ()),
        ("PATCH", f"{path}/two?fieldManager=me", widget("two", group=group, replicas=1), apply),
    ]
    return [cluster.host.ask(method, target, body, headers)[0] for method, target, body, headers in writes]


def test_refuses_writes_without_the_right_to_read(cluster: Cluster, tmp_path: Path) -> None:
    """Refuse writes as a kube-apiserver whose informers never list, and stay not ready, while a kind cannot be read; serve reads."""
    group, crds = "unread.example.com", tmp_path / "crds"
    crds.mkdir()
    (crds / "widgets.json").write_text(json.dumps(widget_crd(group=group)))
    rules = json.loads(json.dumps(server_rules()))
    for one in rules:
        one["resources"] = [resource for resource in one.get("resources", ()) if resource != "validatingwebhookconfigurations"]
    cluster.grant("e2e-unread", [one for one in rules if one["resources"]], "unread")
    kubeconfig = cluster.plane.write_kubeconfig("unread", cluster.plane.authority.issue("unread"))
    serving = cluster.authority.issue("unread-serving", hosts=("127.0.0.1", "localhost"))
    flags = [f"--kubeconfig={kubeconfig}", f"--tls-cert-file={serving.cert}", f"--tls-private-key-file={serving.key}"]
    server = ApiextServer(
        tmp_path / "data", crd_dir=crds, extra_args=[*flags, "--authorization-mode=AlwaysAllow", "--authentication-skip-lookup"]
    )
    server.ca = cluster.authority.cert
    server.process.start()
    try:
        waits = b"internal server error: the host's configurations have not been listed: [*v1.ValidatingWebhookConfiguration]\n"
        until(lambda: server.request("GET", "/readyz/admission")[::2] == (500, waits))
        body = json.dumps(widget("one", group=group)).encode()
        code, _, answer = server.request("POST", widgets_path(group), body)
        assert (code, json.loads(answer)["message"]) == (
            403,
            f'widgets.{group} "one" is forbidden: not yet ready to handle request',
        )
        assert server.request("GET", widgets_path(group))[0] == 200
        assert "validatingwebhookconfigurations.admissionregistration.k8s.io is forbidden" in server.log
    finally:
        server.stop()
