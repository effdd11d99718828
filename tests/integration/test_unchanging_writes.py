"""Writes that controllers repeat: they change nothing until something has changed, and then they do."""

from typing import Any, Final

import pytest

from hack.lib.waiting import until
from tests.support.builders import admission
from tests.support.builders.crds import widget, widget_crd, widgets_path
from tests.support.clients.client import CRDS, MERGE_PATCH, Client

APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
GROUP: Final = "unchanging.example.com"
PATH: Final = widgets_path(GROUP)
WRITES: Final[list[tuple[str, Any, dict[str, str]]]] = [
    ("", {"spec": {"replicas": 1}}, MERGE_PATCH),
    ("?fieldManager=m&force=true", widget("a", group=GROUP, replicas=1), APPLY),
    ("/status", {"status": {"replicas": 1}}, MERGE_PATCH),
    ("/scale", {"spec": {"replicas": 1}}, MERGE_PATCH),
]


@pytest.fixture(autouse=True)
def defined(client: Client) -> None:
    """Serve widgets, without any object."""
    if client.ask("GET", f"{CRDS}/widgets.{GROUP}").status == 404:
        client.define(widget_crd(group=GROUP))
    client.must("DELETE", PATH)


def _revision(client: Client) -> str:
    revision: str = client.must("GET", f"{PATH}/a")["metadata"]["resourceVersion"]
    return revision


@pytest.mark.parametrize("more, body, headers", WRITES, ids=["merge patch", "apply", "status", "scale"])
def test_repeated_patches(client: Client, more: str, body: Any, headers: dict[str, str]) -> None:
    """Leave the object as it is, and change it again after another client's change."""
    client.must("POST", PATH, widget("a", group=GROUP, replicas=1))

    def write() -> Any:
        return client.must("PATCH", f"{PATH}/a{more}", body, headers)

    write()
    settled = write()
    assert [write() for _ in range(3)] == [settled] * 3
    assert client.must("GET", f"{PATH}/a{more.partition('?')[0]}") == settled
    where = "status" if more == "/status" else "spec"
    client.must("PATCH", f"{PATH}/a{'/status' if where == 'status' else ''}", {where: {"replicas": 2}}, MERGE_PATCH)
    again = write()
    assert again[where]["replicas"] == 1
    assert again["metadata"]["resourceVersion"] == _revision(client) != settled["metadata"]["resourceVersion"]
    client.must("DELETE", f"{PATH}/a")
    assert client.ask("PATCH", f"{PATH}/a", body, MERGE_PATCH).status == 404


def test_repeated_updates(client: Client) -> None:
    """Leave the object as it is, and report the conflict after another client's change."""
    created = client.must("POST", PATH, widget("a", group=GROUP, replicas=1))
    assert [client.must("PUT", f"{PATH}/a", created) for _ in range(3)] == [created] * 3
    client.merge(f"{PATH}/a", {"spec": {"replicas": 2}})
    assert client.ask("PUT", f"{PATH}/a", created).status == 409


def test_admission_sees_repeated_writes(client: Client) -> None:
    """Refuse a repeated write once a policy does."""
    client.must("POST", PATH, widget("a", group=GROUP, replicas=1))
    patch = {"spec": {"replicas": 1}}
    for _ in range(3):
        client.merge(f"{PATH}/a", patch)
    rule = admission.rule("widgets", group=GROUP)
    policy = admission.validating_policy("unchanging", "object.spec.replicas != 1", rules=[rule])
    try:
        client.must("POST", admission.collection("ValidatingAdmissionPolicy"), policy)
        binding = admission.validating_binding("unchanging", "unchanging")
        client.must("POST", admission.collection("ValidatingAdmissionPolicyBinding"), binding)
        until(lambda: client.ask("PATCH", f"{PATH}/a", patch, MERGE_PATCH).status == 422)
    finally:
        for kind in ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"):
            client.ask("DELETE", f"{admission.collection(kind)}/unchanging")
    until(lambda: client.ask("PATCH", f"{PATH}/a", patch, MERGE_PATCH).status == 200)


def test_a_changed_definition_counts(client: Client) -> None:
    """Check a repeated write against the present schema."""
    client.must("POST", PATH, widget("a", group=GROUP, replicas=1))
    patch = {"spec": {"replicas": 1}}
    for _ in range(3):
        client.merge(f"{PATH}/a", patch)
    changed = widget_crd(group=GROUP)
    spec = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["x-kubernetes-validations"] = [{"rule": "self.replicas > oldSelf.replicas", "message": "only upwards"}]
    client.merge(f"{CRDS}/widgets.{GROUP}", {"spec": {"versions": changed["spec"]["versions"]}})
    until(lambda: client.ask("PATCH", f"{PATH}/a", patch, MERGE_PATCH).status == 422)
    client.merge(f"{CRDS}/widgets.{GROUP}", {"spec": {"versions": widget_crd(group=GROUP)["spec"]["versions"]}})
    until(lambda: client.ask("PATCH", f"{PATH}/a", patch, MERGE_PATCH).status == 200)
