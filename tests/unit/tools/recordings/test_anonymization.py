"""Anonymization of objects and definitions."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import pytest

from apiext.tools.recordings.anonymization import Anonymizer
from apiext.tools.recordings.pseudonyms import Pseudonyms
from tests.support.builders.crds import crd, definition, version, widget

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"mode": {"type": "string", "enum": ["web", "db"]}}}},
}
DEFINITION: Final = definition(crd("widgets", version("v1", storage=True, schema=SCHEMA)))


@pytest.fixture
def pseudonyms() -> Iterator[Pseudonyms]:
    """Return the pseudonyms of an archive."""
    with closing(Pseudonyms()) as found:
        yield found


def _anonymous(pseudonyms: Pseudonyms, obj: dict[str, Any]) -> dict[str, Any]:
    anonymizer = Anonymizer(DEFINITION, pseudonyms)
    anonymizer.collect(f"{obj['metadata'].get('namespace')}/{obj['metadata']['name']}", obj)
    return anonymizer.anonymize(obj)


def test_replaces_names_and_references(pseudonyms: Pseudonyms) -> None:
    """Replace name, namespace, labels, owners and managers, and texts that are these names; keep enumerations and types."""
    given = widget(
        "web",
        mode="web",
        other={"ref": {"kind": "web", "name": "web"}, "host": "web.prod.svc", "text": "unknown"},
        metadata={
            "namespace": "prod",
            "labels": {"team": "alpha", "live": "true"},
            "ownerReferences": [{"kind": "Fleet", "name": "owner", "uid": "u"}],
            "generateName": "web-",
            "annotations": {"note": "by alpha"},
            "selfLink": "/x",
        },
    )
    found = _anonymous(pseudonyms, given)
    of, metadata = pseudonyms.of, found["metadata"]

    assert (metadata["name"], metadata["namespace"]) == (of("web"), of("prod"))
    assert metadata["labels"] == {"team": of("alpha"), "live": "true"}
    assert metadata["ownerReferences"] == [{"kind": "Fleet", "name": of("owner"), "uid": "u"}]
    assert metadata["annotations"] == {"note": f"by {of('alpha')}"}
    assert "selfLink" not in metadata
    assert found["spec"] == {
        "mode": "web",
        "other": {"ref": {"kind": "web", "name": of("web")}, "host": f"{of('web')}.{of('prod')}.svc", "text": "unknown"},
    }
    assert "web" not in json.dumps(found | {"spec": found["spec"] | {"mode": "", "other": ""}})


def test_repeated_objects_are_equal(pseudonyms: Pseudonyms) -> None:
    """Replace names in last-applied-configuration and managedFields, and managers that not every cluster has."""
    fields: dict[str, Any] = {"f:spec": {"f:hosts": {'v:"web"': {}, 'k:{"name":"web"}': {}}}}
    managed = [{"manager": name, "fieldsV1": fields} for name in ("acme-operator", "kubectl-edit")]
    last = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(widget("web")) + "\n"}
    metadata = _anonymous(pseudonyms, widget("web", metadata={"managedFields": managed, "annotations": last}))["metadata"]
    web = pseudonyms.of("web")

    assert [entry["manager"] for entry in metadata["managedFields"]] == [pseudonyms.of("acme-operator"), "kubectl-edit"]
    assert metadata["managedFields"][0]["fieldsV1"] == {"f:spec": {"f:hosts": {f'v:"{web}"': {}, f'k:{{"name":"{web}"}}': {}}}}
    applied = json.loads(metadata["annotations"]["kubectl.kubernetes.io/last-applied-configuration"])
    assert applied == widget(web)


def test_keys_are_those_of_the_objects(pseudonyms: Pseudonyms) -> None:
    """Replace both parts of a key."""
    assert Anonymizer(DEFINITION, pseudonyms).key("default/web") == f"default/{pseudonyms.of('web')}"


def test_anonymizes_definitions(pseudonyms: Pseudonyms) -> None:
    """Keep the name and the spec of a definition; replace labels, managers and the place of its webhook."""
    webhook = {"clientConfig": {"service": {"namespace": "acme", "name": "hook", "port": 443}}, "conversionReviewVersions": ["v1"]}
    given = crd(conversion={"strategy": "Webhook", "webhook": webhook})
    last = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(given), "inject-ca-from": "acme/hook"}
    given["metadata"] |= {"labels": {"team": "alpha"}, "managedFields": [{"manager": "acme"}], "annotations": last}
    found = Anonymizer(definition(given), pseudonyms).definition(given)
    of, notes = pseudonyms.of, found["metadata"].pop("annotations")

    assert found["metadata"] == {"name": "widgets.example.com", "labels": {"team": of("alpha")}, "managedFields": [{"manager": of("acme")}]}
    assert notes["inject-ca-from"] == f"{of('acme')}/{of('hook')}"
    assert json.loads(notes["kubectl.kubernetes.io/last-applied-configuration"]) == found | {"metadata": {"name": "widgets.example.com"}}
    service = {"namespace": of("acme"), "name": of("hook"), "port": 443}
    assert found["spec"]["conversion"]["webhook"]["clientConfig"] == {"service": service}
    assert found["spec"]["versions"] == given["spec"]["versions"]
    assert given["spec"]["conversion"]["webhook"] == webhook
