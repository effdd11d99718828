"""Admission webhooks of a server process, which asks them for its worker processes, too."""

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Side, Step, wait_for_code
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.certificates import Authority
from hack.lib.waiting import until
from tests.support.admission_webhook import ALLOW, AdmissionWebhook, denying, patching
from tests.support.builders import admission
from tests.support.builders.crds import crd
from tests.support.scripted_webhook import HANG, Json, Reply

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
GADGETS: Final = "/apis/example.com/v1/namespaces/default/gadgets"
RULE: Final = admission.rule("widgets", group="example.com")
LARGE: Final = 200_000
"""Bytes of an object whose writes run in a worker process."""


@pytest.fixture(scope="module")
def webhook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdmissionWebhook]:
    """Run a webhook for URLs, and for the Service default/webhook."""
    with AdmissionWebhook(tmp_path_factory.mktemp("hook"), hosts=["127.0.0.1", "webhook.default.svc"]) as running:
        yield running


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdmissionWebhook]:
    """Run a webhook that demands client certificates."""
    folder = tmp_path_factory.mktemp("strict")
    with AdmissionWebhook(folder) as running:
        running.demand_certificates(Authority(folder / "clients"))
        yield running


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, webhook: AdmissionWebhook, strict: AdmissionWebhook) -> Iterator[Side]:
    """Run a server with two kinds of objects."""
    folder = tmp_path_factory.mktemp("server")
    arguments = [
        f"--service-address=default/webhook=127.0.0.1:{webhook.port}",
        f"--admission-control-config-file={_credentials(folder, webhook, strict)}",
    ]
    with ApiextServer(folder, extra_args=arguments) as server:
        side = Side(server.url, server.ssl_context())
        for plural, kind in (("widgets", "Widget"), ("gadgets", "Gadget")):
            assert side.raw(Step("POST", CRDS, crd(plural, kind=kind)))[0].status == 201
        for path in (WIDGETS, GADGETS):
            wait_for_code(side, Step("GET", path), 200)
        yield side
        side.close()


def _credentials(folder: Path, webhook: AdmissionWebhook, strict: AdmissionWebhook) -> Path:
    """Write a token and a client certificate with which validating webhooks are called."""
    kubeconfig, configuration = folder / "hooks.kubeconfig", folder / "admission.yaml"
    assert strict.clients is not None
    pair = strict.clients.issue("apiext")
    users = [
        {"name": f"127.0.0.1:{webhook.port}", "user": {"token": "secret"}},
        {"name": f"127.0.0.1:{strict.port}", "user": {"client-certificate": str(pair.cert), "client-key": str(pair.key)}},
    ]
    kubeconfig.write_text(json.dumps({"kind": "Config", "apiVersion": "v1", "users": users}))
    settings = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(kubeconfig),
    }
    plugins = [{"name": "ValidatingAdmissionWebhook", "configuration": settings}]
    document = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": plugins}
    configuration.write_text(json.dumps(document))
    return configuration


@pytest.fixture
def server(running: Side, webhook: AdmissionWebhook) -> Iterator[Side]:
    """Return the server without webhooks and widgets; forget earlier answers."""
    webhook.answers.clear()
    webhook.calls.clear()
    yield running
    webhook.answers.clear()
    for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        running.raw(Step("DELETE", f"/apis/{admission.API}/{kind}"))
    for path in (WIDGETS, GADGETS):
        running.raw(Step("DELETE", path))


def configure(server: Side, *configurations: Json) -> None:
    """Create webhook configurations. They apply at once."""
    for one in configurations:
        path = f"/apis/{admission.API}/{admission.PLURALS[one['kind']]}"
        found = server.ask(Step("POST", path, one))
        assert found.code == 201, found.body


def hook(webhook: AdmissionWebhook, name: str, **more: Any) -> Json:
    """Return a webhook for widgets."""
    return admission.hook(f"{name}.example.com", RULE, **({"clientConfig": webhook.client_config("ours", name)} | more))


def widget(name: str = "w", size: int = 10, kind: str = "Widget") -> Json:
    """Return an object of a size."""
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": {"text": "x" * size}}


@pytest.mark.parametrize("size", [10, LARGE])
def test_objects_of_all_sizes(server: Side, webhook: AdmissionWebhook, size: int) -> None:
    """Ask each webhook once about each write, in the server or for a worker process."""
    configure(
        server,
        admission.mutating("m", hook(webhook, "a"), hook(webhook, "b")),
        admission.validating("v", hook(webhook, "c")),
    )
    color = patching({"op": "add", "path": "/spec/color", "value": "red"})
    webhook.answers["a"] = lambda call: (ALLOW if call.request["operation"] == "DELETE" else color)(call)

    created = server.ask(Step("POST", WIDGETS, widget(size=size)))
    updated = server.ask(Step("PATCH", f"{WIDGETS}/w", {"spec": {"more": 1}}))
    deleted = server.ask(Step("DELETE", f"{WIDGETS}/w"))

    assert (created.code, updated.code, deleted.code) == (201, 200, 200)
    assert created.body["spec"] == {"text": "x" * size, "color": "red"}
    assert [(call.hook, call.request["operation"]) for call in webhook.calls] == [
        *((name, "CREATE") for name in "abc"),
        *((name, "UPDATE") for name in "abc"),
        *((name, "DELETE") for name in "abc"),
    ]
    assert webhook.calls[1].request["object"]["spec"] == created.body["spec"]


def test_large_answers(server: Side, webhook: AdmissionWebhook) -> None:
    """A large answer is read in a worker process; the webhooks are not asked again."""
    configure(server, admission.mutating("m", hook(webhook, "a"), hook(webhook, "b")))
    webhook.answers["b"] = patching({"op": "add", "path": "/spec/more", "value": "y" * LARGE})

    created = server.ask(Step("POST", WIDGETS, widget()))

    assert len(created.body["spec"]["more"]) == LARGE
    assert [call.hook for call in webhook.calls] == ["a", "b"]


def test_large_answers_about_built_in_kinds(server: Side, webhook: AdmissionWebhook) -> None:
    """A large answer about a kind whose writes never leave the server is read there."""
    configmaps = admission.rule("configmaps", group="")
    config = {"clientConfig": webhook.client_config("ours", "a")}
    configure(server, admission.mutating("m", admission.hook("a.example.com", configmaps, **config)))
    webhook.answers["a"] = patching({"op": "add", "path": "/data", "value": {"more": "y" * LARGE}})
    path = "/api/v1/namespaces/default/configmaps"

    created = server.ask(Step("POST", path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}))
    webhook.answers.clear()

    assert len(created.body["data"]["more"]) == LARGE
    assert server.ask(Step("DELETE", f"{path}/c")).code == 200
    assert [call.request["operation"] for call in webhook.calls] == ["CREATE", "DELETE"]


def test_too_large_answers(server: Side, webhook: AdmissionWebhook) -> None:
    """An answer beyond the limit counts as a failed call."""
    configure(server, admission.validating("v", hook(webhook, "a")))
    webhook.answers["a"] = lambda _: Reply(b" " * (4 << 20))

    refused = server.ask(Step("POST", WIDGETS, widget()))

    assert refused.code == 500
    assert refused.body["message"].endswith("failed to call webhook: the response of the webhook is larger than 3145728 bytes")


def test_silent_webhooks(server: Side, webhook: AdmissionWebhook) -> None:
    """A webhook without an answer delays what it matches only."""
    configure(server, admission.validating("v", hook(webhook, "silent", timeoutSeconds=30, failurePolicy="Ignore")))
    webhook.answers["silent"] = lambda _: HANG
    with ThreadPoolExecutor(8) as threads:
        waiting = [threads.submit(_create_alone, server, f"w{number}", LARGE * (number % 2)) for number in range(8)]
        until(lambda: len(webhook.calls) == 8, "all writes wait")

        others = [server.ask(Step("POST", GADGETS, widget(f"g{size}", size, "Gadget"))).code for size in (10, LARGE)]

        assert others == [201, 201]
        assert not any(one.done() for one in waiting)
        webhook.release()
        assert [one.result() for one in waiting] == [201] * 8


def _create_alone(server: Side, name: str, size: int) -> int:
    """Create a widget on a connection of its own."""
    side = Side(server.url, server.context)
    try:
        return side.ask(Step("POST", WIDGETS, widget(name, size))).code
    finally:
        side.close()


def test_services(server: Side, webhook: AdmissionWebhook) -> None:
    """Call a Service at the address of a flag."""
    configure(server, admission.validating("v", hook(webhook, "a", clientConfig=webhook.service("ours", "a", port=8443))))

    assert server.ask(Step("POST", WIDGETS, widget())).code == 201
    assert [call.headers["host"] for call in webhook.calls] == ["webhook.default.svc:8443"]


def test_credentials(server: Side, webhook: AdmissionWebhook) -> None:
    """Each plug-in calls webhooks as the user in its kubeconfig."""
    configure(server, admission.mutating("m", hook(webhook, "a")), admission.validating("v", hook(webhook, "b")))

    server.ask(Step("POST", WIDGETS, widget()))

    assert [(call.hook, call.headers.get("authorization")) for call in webhook.calls] == [("a", None), ("b", "Bearer secret")]


def test_client_certificates(server: Side, strict: AdmissionWebhook) -> None:
    """Call a validating webhook with the certificate of its user, a mutating one without credentials: the first one answers."""
    configure(server, admission.validating("v", hook(strict, "a")))
    created = server.ask(Step("POST", WIDGETS, widget("seen")))
    configure(server, admission.mutating("m", hook(strict, "b")))
    refused = server.ask(Step("POST", WIDGETS, widget("unseen")))

    assert (created.code, refused.code) == (201, 500)
    assert 'failed calling webhook "b.example.com"' in refused.body["message"]
    assert [call.hook for call in strict.calls] == ["a"]


def test_authorities_change(server: Side, webhook: AdmissionWebhook, tmp_path: Path) -> None:
    """A new caBundle holds for the next call."""
    other = Authority(tmp_path / "other")
    bundle = base64.b64encode(other.cert.read_bytes()).decode()
    config = webhook.client_config("ours", "a")
    configure(server, admission.validating("v", hook(webhook, "a", clientConfig=config | {"caBundle": bundle})))

    refused = server.ask(Step("POST", WIDGETS, widget()))
    path = f"/apis/{admission.API}/validatingwebhookconfigurations/v"
    patch = [{"op": "replace", "path": "/webhooks/0/clientConfig", "value": config}]
    server.ask(Step("PATCH", path, patch, {"Content-Type": "application/json-patch+json"}))

    assert "x509: certificate signed by unknown authority" in refused.body["message"]
    assert server.ask(Step("POST", WIDGETS, widget())).code == 201


def test_denials(server: Side, webhook: AdmissionWebhook) -> None:
    """A denial has the webhook's code, and its Retry-After."""
    configure(server, admission.validating("v", hook(webhook, "a")))
    webhook.answers["a"] = denying("no", code=409, reason="Conflict", details={"retryAfterSeconds": 7})

    response, data = server.raw(Step("POST", WIDGETS, widget()))

    assert (response.status, response.headers["Retry-After"]) == (409, "7")
    assert json.loads(data)["message"] == 'admission webhook "a.example.com" denied the request: no'


def test_counts(server: Side, webhook: AdmissionWebhook) -> None:
    """Calls for worker processes count once, as those of the server."""
    configure(server, admission.validating("v", hook(webhook, "counted")))
    for number, size in enumerate((10, LARGE)):
        server.ask(Step("POST", WIDGETS, widget(f"w{number}", size)))

    text = server.raw(Step("GET", "/metrics"))[1].decode()

    labels = 'code="200",name="counted.example.com",operation="CREATE",rejected="false",type="validating"'
    assert f"apiserver_admission_webhook_request_total{{{labels}}} 2" in text
